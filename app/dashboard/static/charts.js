// Draws each table of values as a stacked bar chart with uPlot. Without scripts, the tables remain.
"use strict";

(() => {
  const NANO = 1e9;
  const HEIGHT_PX = 220;
  const COLORS = 8;
  const WHOLE_STEPS = Array.from({ length: 48 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));

  const read = (table) => {
    const cells = (row) => Array.from(row.querySelectorAll("td"), (cell) => Number(cell.dataset.value));
    const rows = Array.from(table.tBodies[0].rows);
    const values = rows.map(cells);
    const heads = Array.from(table.querySelectorAll("[data-series]"));
    const labels = heads.map((cell) => cell.textContent);
    return {
      unit: table.dataset.unit,
      bucketS: Number(table.dataset.bucketS),
      timesS: rows.map((row) => Number(row.cells[0].dataset.timeS)),
      labels,
      colors: heads.map((cell, index) => `--series-${cell.dataset.series === "rest" ? COLORS : index + 1}`),
      series: labels.map((_, index) => values.map((row) => row[index])),
    };
  };

  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  const whole = new Intl.NumberFormat("en");
  const dollars = (nano, digits) =>
    new Intl.NumberFormat("en", {
      style: "currency", currency: "USD", minimumFractionDigits: digits, maximumFractionDigits: digits,
    }).format(nano / NANO);

  // As many decimals of a dollar as two adjacent labels of the axis need to differ.
  const axisDigits = (stepNano) => (stepNano >= NANO ? 0 : Math.max(2, Math.ceil(-Math.log10(stepNano / NANO))));
  const onAxis = (unit, splits) => {
    const digits = axisDigits(splits.length > 1 ? splits[1] - splits[0] : NANO);
    return splits.map((number) => (unit === "usd" ? dollars(number, digits) : compact.format(number)));
  };
  const inLegend = (unit, number) =>
    unit === "usd" ? dollars(number, number < NANO / 10 ? 6 : 2) : whole.format(number);

  // Each series is drawn from 0 to the sum of itself and the series below it, the highest first.
  const stack = (series) => {
    const sums = [];
    series.forEach((values, index) =>
      sums.push(values.map((value, at) => value + (index ? sums[index - 1][at] : 0))));
    return sums;
  };

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const timeLabel = (bucketS, timeS) => {
    const text = new Date(timeS * 1000).toISOString();
    return bucketS < 86400 ? text.slice(5, 16).replace("T", " ") : text.slice(0, 10);
  };

  const draw = (plot, figures) => {
    const { unit, bucketS, timesS, labels, colors, series } = figures;
    const sums = stack(series);
    const order = labels.map((_, index) => labels.length - 1 - index);
    const lines = {
      stroke: color("--faint"),
      grid: { stroke: color("--line"), width: 1 },
      ticks: { stroke: color("--line"), width: 1 },
    };
    const options = {
      width: plot.clientWidth,
      height: HEIGHT_PX,
      tzDate: (timeS) => uPlot.tzDate(new Date(timeS * 1000), "Etc/UTC"),
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { range: [timesS[0], timesS[timesS.length - 1] + bucketS] },
        y: { range: (_, _low, high) => [0, (high || 1) * 1.05] },
      },
      axes: [
        {
          ...lines,
          grid: { show: false },
          space: 60,
          values: (_, splits) => splits.map((timeS) => {
            const label = timeLabel(bucketS, timeS);
            return bucketS < 86400 ? label.slice(6) : label.slice(5);
          }),
        },
        { ...lines, ...(unit === "usd" ? {} : { incrs: WHOLE_STEPS }), size: 64, values: (_, splits) => onAxis(unit, splits) },
      ],
      series: [
        { label: bucketS < 86400 ? "Hour" : "Day", value: (_, timeS) => (timeS == null ? "" : timeLabel(bucketS, timeS)) },
        ...order.map((index) => ({
          label: labels[index],
          fill: color(colors[index]),
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars({ align: 1, size: [0.85, 80] }),
          value: (_, _sum, _series, at) => (at == null ? "" : inLegend(unit, series[index][at])),
        })),
      ],
    };
    const chart = new uPlot(options, [timesS, ...order.map((index) => sums[index])], plot);
    // The legend lists the largest series first, like the table.
    plot.querySelectorAll(".u-legend .u-series").forEach((entry, at) => {
      // The time is shown only while the pointer is on a bar. It is last, so that nothing moves.
      entry.style.order = String(at ? labels.length - at : labels.length + 1);
    });
    return chart;
  };

  document.querySelectorAll("table.series").forEach((table) => {
    const plot = table.closest(".chart").querySelector(".plot");
    const figures = read(table);
    plot.hidden = false;
    let chart = draw(plot, figures);
    new ResizeObserver(() => {
      if (plot.clientWidth !== chart.width) chart.setSize({ width: plot.clientWidth, height: HEIGHT_PX });
    }).observe(plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      chart.destroy();
      chart = draw(plot, figures);
    });
  });
})();
