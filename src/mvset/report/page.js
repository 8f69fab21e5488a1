(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures"), slider = read("slider-data"), unusualScores = read("unusual-scores");
  document.documentElement.classList.add("js");

  const options = { responsive: true, displayModeBar: false };
  for (const [id, figure] of Object.entries(figures)) Plotly.newPlot(id, figure.data, figure.layout, options);

  const setText = (id, text) => { document.getElementById(id).textContent = text; };

  function moveTo(k) {
    const mass = slider.masses[k], offset = slider.offsets[k], stop = slider.stops[k];
    setText("mass-value", stop.mass);
    setText("n-outside", stop.outside);
    setText("share-outside", stop.share);
    setText("asked", stop.asked);
    setText("volume", stop.volume);
    const outside = slider.scores.map((score) => score < offset);
    const marker = {
      "marker.color": [outside.map((out) => (out ? slider.colours.outside : slider.colours.inside))],
      "marker.size": [outside.map((out) => (out ? 7 : 4))],
      "marker.opacity": [outside.map((out) => (out ? 0.95 : 0.35))],
      "marker.symbol": [outside.map((out) => (out ? "x" : "circle"))],
    };
    for (const id of slider.sets) {
      Plotly.restyle(id, { "contours.start": mass, "contours.end": mass }, [1]);
      Plotly.restyle(id, marker, [2]);
    }
    for (const id of ["levels", "volumes"]) {
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
