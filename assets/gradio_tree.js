// What Gradio's page asks of its tree of components for every input and output of every event. Its own script looks
// through the whole tree each time; xformer/ui/server/gradio_private.py has it call these instead;
// docs/upstream/lookup.md has the number of visits, and a patch.

const paths = new Map();  // by a component's id: the way to it, as places among the children
// Of which dependencies, how many there were, and by a component's id the events that they listen to.
let listed = null, count = 0, events = null;

// By their ids, what stands for the components that have not come yet: {id, type, children, props}, as in the tree.
export const absent = new Map();

// The component {id, children} with an id in a tree; null where there is none.
export function lookUp(root, id) {
  if (absent.has(id)) return absent.get(id);
  if (id < 0) return null;  // what gradio_tabs.js listens to is no component
  let found = root;
  for (const place of paths.get(id) ?? []) found = found?.children?.[place];
  if (found?.id === id) return found;  // else it is new, or the tree has changed
  found = null;
  const walk = (component, path) => {
    paths.set(component.id, path);
    if (component.id === id) found ??= component;
    component.children?.forEach((child, place) => walk(child, [...path, place]));
  };
  walk(root, []);
  return found;
}

// The events of a component that dependencies [{targets: [[id, event], …]}, …] listen to, in their order.
export function eventsOf(id, dependencies) {
  if (dependencies !== listed || dependencies.length !== count) {
    listed = dependencies;
    count = dependencies.length;
    events = new Map();
    for (const {targets} of dependencies) {
      const first = new Map();
      for (const [target, event] of targets) if (!first.has(target)) first.set(target, event);
      for (const [target, event] of first) if (event) events.set(target, [...events.get(target) ?? [], event]);
    }
  }
  return [...events.get(id) ?? []];
}
