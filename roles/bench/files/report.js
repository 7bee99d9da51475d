// Copies a table, or one row of it with its heads, as tab-separated text.
const line = (row) => [...row.cells].map((cell) => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll('small').forEach((note) => note.remove());
  return copy.textContent.trim().replace(/\s+/g, ' ');
}).join('\t');

const put = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement('textarea'), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
};

document.addEventListener('click', async (event) => {
  const button = event.target.closest('.copy, .copy-row');
  if (!button) return;
  const table = button.closest('.table').querySelector('table');
  const rows = button.matches('.copy') ? [...table.rows] : [table.rows[0], button.closest('tr')];
  await put(rows.map(line).join('\n'));
  const done = button.closest('.table').querySelector('.copy');
  const label = done.textContent;
  done.textContent = done.dataset.done;
  setTimeout(() => { done.textContent = label; }, 1200);
}, false);

// A printed page cannot be opened: show what is folded.
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((part) => { part.open = true; }));
