// A hint beside a text field that says which keys run what its button does: Ctrl + Enter, or Cmd + Enter on a Mac.
// The field and the button are those of the column that the hint stands in.
export default function start({element}) {
  const column = element.closest('.column');
  column.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !event.target.matches('textarea')) return;
    event.preventDefault();
    column.querySelector('button.primary').click();
  });
}
