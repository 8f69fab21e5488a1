(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures"), slider = read("slider-data"), unusualScores = read("unusual-scores");
  document.documentElement.classList.add("js");

  // Figures follow the page: dark where the reader prefers that, light on paper, fewer labels on a narrow screen.
  const dark = window.matchMedia("(prefers-color-scheme: dark)"), narrow = window.matchMedia("(max-width: 520px)");
  const timeLabels = () => (narrow.matches ? 4 : 7);
  let printing = false;
  const colours = () => (dark.matches && !printing
    ? { ink: "#e6ebf0", grid: "#32404d", card: "#1a232c", outer: ["#31577a", "#24384b", "#1a232c"] }
    : { ink: slider.colours.ink, grid: "#eeeeee", card: "#ffffff", outer: ["#bdd7e7", "#dcebf7", "#ffffff"] });

  const family = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const axis = { linecolor: slider.colours.line, ticks: "outside", zeroline: false, automargin: true };

  function themed(layout) {
    const now = colours(), own = JSON.parse(JSON.stringify(layout));
    const style = { showlegend: false, dragmode: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: now.card };
    const font = { family, size: 13, color: now.ink }, margin = { l: 55, r: 15, t: 15, b: 45, ...own.margin };
    const copy = { ...style, ...own, font, margin };
    for (const name of Object.keys(copy).filter((key) => /^[xy]axis/.test(key))) {
      copy[name] = { ...axis, gridcolor: now.grid, ...copy[name] };
    }
    for (const shape of copy.shapes || []) {
      if (shape.line && shape.line.color === slider.colours.ink) shape.line.color = now.ink;
    }
    if (copy.xaxis.nticks) copy.xaxis.nticks = timeLabels();
    return copy;
  }
  const themedData = (figure) => figure.data.map((trace, i) => {
    if (i > 0 || trace.type !== "contour") return trace;
    const outer = colours().outer.map((colour, k) => [[0.7, 0.85, 1][k], colour]);
    return { ...trace, colorscale: [...trace.colorscale.slice(0, 2), ...outer] };
  });

  const options = { responsive: true, displayModeBar: false };
  const draw = (how) => {
    for (const [id, figure] of Object.entries(figures)) how(id, themedData(figure), themed(figure.layout), options);
  };
  draw(Plotly.newPlot);
  const redraw = () => { draw(Plotly.react); moveTo(Number(document.getElementById("mass").value)); };
  dark.addEventListener("change", redraw);
  narrow.addEventListener("change", () => {
    for (const id of ["trends", "time"].filter((id) => id in figures)) Plotly.relayout(id, { "xaxis.nticks": timeLabels() });
  });
  const appendix = document.getElementById("appendix");
  // What is drawn while it is closed has no width.
  appendix.addEventListener("toggle", () => {
    for (const figure of appendix.querySelectorAll(".figure")) if (appendix.open) Plotly.Plots.resize(figure);
  });
  window.addEventListener("beforeprint", () => { printing = true; appendix.open = true; redraw(); });
  window.addEventListener("afterprint", () => { printing = false; redraw(); });

  const setText = (id, text) => { document.getElementById(id).textContent = text; };

  function moveTo(k) {
    const mass = slider.masses[k], offset = slider.offsets[k], stop = slider.stops[k];
    setText("mass-value", stop.mass);
    setText("n-outside", stop.outside);
    setText("share-outside", stop.share);
    setText("asked", stop.asked);
    setText("side", stop.side);
    document.getElementById("volume").title = stop.volume;
    const outside = slider.scores.map((score) => score < offset);
    const marker = {
      "marker.color": [outside.map((out) => (out ? slider.colours.outside : colours().ink))],
      "marker.size": [outside.map((out) => (out ? 7 : 4))],
      "marker.opacity": [outside.map((out) => (out ? 0.95 : 0.35))],
      "marker.symbol": [outside.map((out) => (out ? "x" : "circle"))],
    };
    for (const id of slider.sets) {
      Plotly.restyle(id, { "contours.start": mass, "contours.end": mass }, [1]);
      Plotly.restyle(id, marker, [2]);
    }
    for (const id of ["levels", "volumes"].filter((id) => id in figures)) {
      const last = figures[id].layout.shapes.length - 1;
      Plotly.relayout(id, { [`shapes[${last}].x0`]: mass, [`shapes[${last}].x1`]: mass });
    }
    document.querySelectorAll("#unusual tbody tr").forEach((row, i) => {
      row.classList.toggle("inside", unusualScores[i] >= offset);
    });
  }

  const input = document.getElementById("mass");
  let waiting = null;
  input.addEventListener("input", () => {
    if (waiting === null) requestAnimationFrame(() => { const k = waiting; waiting = null; moveTo(k); });
    waiting = Number(input.value);
  });
  moveTo(slider.start);
})();
