"""The thinking of the toolkit: pure Python, standard library only, no Ansible, no I/O."""
