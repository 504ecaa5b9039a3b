// The boxes of the architecture: a button with a stack is opened, by click or Enter, with 'choose' {stack, layer}.
element.addEventListener('click', event => {
  const box = event.target.closest('button[data-stack]');
  if (box) trigger('choose', {stack: box.dataset.stack, layer: Number(box.dataset.layer)});
});
