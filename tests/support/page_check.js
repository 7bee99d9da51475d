// Runs in front of a page's own scripts: collects its errors, and at the end writes what a reader would see into the page.
const pageErrors = [];

addEventListener('error', (event) => {
  pageErrors.push(event.message || `cannot load ${event.target.src || event.target.href}`);
}, true);
addEventListener('unhandledrejection', (event) => pageErrors.push(String(event.reason)));

const logError = console.error;
console.error = (...words) => {
  pageErrors.push(words.join(' '));
  logError(...words);
};

const isSeen = (element) => {
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
};

const plots = () => [...document.querySelectorAll('svg, canvas')].filter(isSeen).map((plot) => ({
  near: (plot.closest('section, article') || document.body).textContent,
  marks: plot.querySelectorAll('path, polyline, circle, rect, line').length,
}));

addEventListener('load', () => setTimeout(() => {
  const result = document.createElement('script');
  result.type = 'application/json';
  result.id = 'page-check';
  result.textContent = JSON.stringify({
    errors: pageErrors,
    plots: plots(),
    text: document.body.innerText,
    width: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
  }).replaceAll('<', '\\u003c');
  window.parent.document.body.append(result);
}, 300));
