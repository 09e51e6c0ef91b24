// Marks what is drawn at a place as the last frame, since nobody answers any more, or unmarks it: its state says so, and
// its controls do nothing. Styles of what is inside of a view ask for the two names.
window.whimbrel ??= {}
window.whimbrel.freeze = (place, frozen) => {
  const controls = root => [...root.querySelectorAll("button, input, select, textarea, .noUi-target")].concat(
    ...[...root.querySelectorAll("*")].map(each => each.shadowRoot ? controls(each.shadowRoot) : []))
  place.style.setProperty("--whimbrel-live", frozen ? "none" : "")
  place.style.setProperty("--whimbrel-last", frozen ? "inline" : "")
  for (const control of controls(place.shadowRoot ?? place)) control.inert = frozen
}
