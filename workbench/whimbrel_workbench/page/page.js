// What a notebook page does for live views. It comes with the scripts, which are not saved once a page has run them: a
// page that was only loaded has none of it, shows last frames and starts nothing.
if (!window.whimbrel.page) {
  Object.assign(window.whimbrel, {page: Math.random().toString(36).slice(2), kernels: new Set(), shown: new Map()})
  // JupyterLab takes arrows and letters for its own where it sees no text field: what is inside of a view it cannot see.
  window.addEventListener("keydown", event => {
    const view = event.target
    const inner = event.composedPath()[0]
    if (inner !== view && view.className?.startsWith?.("bk-")) {
      view.toggleAttribute("data-lm-suppress-shortcuts", inner.matches("select, input, textarea, [role=slider]"))
    }
  }, true)
}

// Whether a page shows a view now. A view is shown once: an output that is rendered again finds its run ended, and one
// that is shown beside its cell, too, shows the last frame there.
window.whimbrel.show = (kernel, view, still, sign) => {
  const {kernels, shown, attend, outliveCopies, sayOnlyWhatIsNew} = window.whimbrel
  if (!kernels.has(kernel)) return false
  shown.set(view, (shown.get(view) ?? 0) + 1)
  if (shown.get(view) > 1) {
    document.currentScript?.closest(".jp-OutputArea")?.classList.add(`whimbrel-beside-${still}`)
    return false
  }
  const style = document.createElement("style")
  style.textContent = `.whimbrel-${still}:not(.whimbrel-beside-${still} *) { display: none }`
  document.head.append(style)
  const began = Date.now()
  const wait = setInterval(() => {
    const drawn = window.Bokeh?.index[view]
    const waited = Date.now() - began
    style.disabled = !drawn && waited > 3_000
    if (!drawn && waited < 120_000) return
    clearInterval(wait)
    if (!drawn) return
    sayOnlyWhatIsNew(drawn.model.document)
    outliveCopies(view, drawn.model.document)
    attend(view, drawn, sign, style)
  }, 25)
  return true
}

// Panel's pages tell the kernel again whatever it has told them, every column of a chart, and say nothing else before it
// has heard them out.
window.whimbrel.sayOnlyWhatIsNew = document => {
  for (const model of document._all_models.values()) {
    if (!model.type.endsWith("CommManager")) continue
    model.debounce = 0
    document.remove_on_change(model._document_listener)
    document.on_change(event => {
      if (event.sync !== false) model._document_listener(event)
    })
  }
}

// JupyterLab clears a view when any output that shows it is closed: only the last one is to do so.
window.whimbrel.outliveCopies = (view, document) => {
  const {shown} = window.whimbrel
  const kernel = window.PyViz.kernels[view]
  const clear = document.clear
  document.clear = (...how) => {
    shown.set(view, shown.get(view) - 1)
    if (shown.get(view) === 0) return clear.apply(document, how)
    window.PyViz.kernels[view] = kernel
  }
}

// Tells the kernel every few seconds, and whenever it changes, whether somebody can see the view: an ended page tells
// nothing, and its streams are ended. The kernel answers with the name of the page to which the view belongs, the first
// that told of it. Without an answer the last frame is shown: the kernel is busy, or a notebook was saved before it had
// one, with its scripts, and is opened again. A kernel that answered before and is silent now, or gone, leaves what is
// drawn, which is said.
window.whimbrel.attend = (view, drawn, sign, style) => {
  const place = drawn.el
  const around = place.parentElement
  const {page, freeze} = window.whimbrel
  const began = Date.now()
  const kernel = () => window.PyViz.kernels[view] // forgotten there when it is restarted or dies
  const known = kernel()
  const note = document.createElement("p")
  note.setAttribute("role", "alert")
  note.style = "margin: 4px 8px; padding: 4px 10px; border-left: 4px solid #D55E00; font-weight: 600; display: none"
  around.before(note)
  let inSight = true
  let count = 0
  let askedSince = 0
  const teller = () => drawn.model.document?.get_model_by_id(sign)
  const ways = () => [...drawn.model.document?._all_models.values() ?? []].filter(each => each.type.endsWith("CommManager"))
  const answered = () => teller().placeholder.split(" ")[0] === page
  const say = word => {
    const told = teller()
    if (!told) return
    told.value = `${word} ${page} ${++count}`
    askedSince ||= Date.now()
  }
  const tell = words => {
    if (note.textContent === words) return
    note.textContent = words
    note.style.display = words ? "" : "none"
    freeze(place, words !== "")
  }
  const look = () => {
    if (!teller()) return leave() // its output was removed: the kernel hears no more of it
    style.disabled = !answered() && Date.now() - began > 2_000
    around.style.display = style.disabled ? "none" : "contents"
    if (known && !kernel()) return tell("Last frame: the kernel was restarted or has ended. Run the cell again.")
    if (askedSince && Date.now() - askedSince > 10_000 && answered()) tell("Last frame: the kernel does not answer this view.")
    // JupyterLab takes a folded output out of its cell; a cell that is far away it takes out of the page.
    const folded = place.isConnected ? around.parentElement.getClientRects().length === 0 : !place.closest(".jp-Cell")
    const seen = place.isConnected && inSight && document.visibilityState === "visible"
    say(folded ? "hidden" : seen ? "seen" : "away")
  }
  const hear = event => {
    if (event.sync !== false) return // what is changed here
    askedSince = 0
    if (teller()?.placeholder === "ended") {
      tell("Last frame: the cell was run again, or its output removed, in another window.")
      return rest()
    }
    tell("")
    if (style.disabled) look()
  }
  const rest = () => {
    clearInterval(timer)
    eyes.disconnect()
    document.removeEventListener("visibilitychange", look)
    window.removeEventListener("pagehide", go)
  }
  const leave = () => {
    rest()
    style.remove()
  }
  // A page that ends says so at once, instead of when the kernel has answered, and nothing after it.
  const go = () => {
    say("gone")
    leave()
    for (const way of ways()) way.process_events()
  }
  // JupyterLab opens a way to the kernel before it has made the one beside the cells, and what came by it waited until
  // all of them were over: it is opened again, the newer way by now.
  const knock = pause_ms => {
    if (!teller() || answered()) return
    for (const way of ways()) way._client_comm?.open?.()
    look()
    for (const way of ways()) way.process_events()
    setTimeout(knock, pause_ms, Math.min(2 * pause_ms, 3_000))
  }
  const eyes = new IntersectionObserver(entries => {
    inSight = entries.at(-1).isIntersecting
    look()
  })
  eyes.observe(place)
  drawn.model.document.on_change(hear)
  document.addEventListener("visibilitychange", look)
  window.addEventListener("pagehide", go)
  const timer = setInterval(look, 3_000)
  look()
  setTimeout(knock, 250, 500)
}
