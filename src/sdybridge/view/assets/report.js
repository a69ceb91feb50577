"use strict";
// The table of values: only the rows that are seen exist, so that ten thousand of them scroll at once.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const HEIGHT = 26;
  const COLUMNS = ["name", "line", "sharding", "global", "local", "per device", "operation"];
  const NUMERIC = new Set([1, 5]);
  const table = document.getElementById("table");
  const body = document.getElementById("body");
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const detail = document.getElementById("detail");

  // value: [name, line, operation, scope, use], use: [shape, local, bytes, size, sharding, carrier, pictured]
  const cells = ([name, line, operation, , use]) => {
    const [shape, local, , size, sharding] = data.uses[use];
    return [name, String(line), sharding, shape, local, size, operation];
  };
  const sortKey = (value, column) =>
    column === 1 ? value[1] : column === 5 ? data.uses[value[4]][2] : cells(value)[column];
  const texts = data.values.map((value) => (cells(value).join(" ") + " " + value[3]).toLowerCase());

  let shown = data.values.map((_, i) => i);
  let chosen = -1; // a place in `shown`
  let order = { column: -1, sign: 1 };

  const element = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  function heads() {
    const row = document.getElementById("head");
    row.replaceChildren(...COLUMNS.map((title, column) => {
      const mark = order.column === column ? (order.sign > 0 ? " ↑" : " ↓") : "";
      const button = element("button", { type: "button", textContent: title + mark, title: `Sort by ${title}` });
      button.addEventListener("click", () => sort(column));
      const cell = element("span", { className: NUMERIC.has(column) ? "n" : "" }, button);
      cell.setAttribute("role", "columnheader");
      return cell;
    }));
  }

  function paint() {
    const first = Math.max(0, Math.floor(table.scrollTop / HEIGHT) - 8);
    const last = Math.min(shown.length, first + Math.ceil(table.clientHeight / HEIGHT) + 16);
    body.style.height = `${shown.length * HEIGHT}px`;
    const rows = [];
    for (let place = first; place < last; place++) {
      const row = element("div", { className: place === chosen ? "row chosen" : "row", id: `row-${place}` },
        ...cells(data.values[shown[place]]).map((text, column) => {
          const cell = element("span", { textContent: text, title: text, className: NUMERIC.has(column) ? "n" : "" });
          cell.setAttribute("role", "gridcell");
          return cell;
        }));
      row.style.top = `${place * HEIGHT}px`;
      row.setAttribute("role", "row");
      row.setAttribute("aria-rowindex", place + 1);
      row.setAttribute("aria-selected", place === chosen);
      row.addEventListener("click", () => choose(place));
      rows.push(row);
    }
    body.replaceChildren(...rows);
    if (chosen >= 0) table.setAttribute("aria-activedescendant", `row-${chosen}`);
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const before = chosen >= 0 ? shown[chosen] : -1;
    shown = data.values.map((_, i) => i).filter((i) => words.every((word) => texts[i].includes(word)));
    arrange();
    chosen = shown.indexOf(before);
    table.scrollTop = 0;
    count.textContent = `${shown.length} of ${data.values.length}`;
    paint();
  }

  function arrange() {
    const { column, sign } = order;
    if (column < 0) return;
    shown.sort((a, b) => {
      const [x, y] = [sortKey(data.values[a], column), sortKey(data.values[b], column)];
      return (x < y ? -1 : x > y ? 1 : a - b) * sign;
    });
  }

  function sort(column) {
    order = { column, sign: order.column === column ? -order.sign : column === 5 ? -1 : 1 };
    heads();
    filter();
  }

  function choose(place) {
    if (place < 0 || place >= shown.length) return;
    chosen = place;
    const top = place * HEIGHT;
    if (top < table.scrollTop) table.scrollTop = top;
    const bottom = top + 2 * HEIGHT - table.clientHeight;
    if (bottom > table.scrollTop) table.scrollTop = bottom;
    paint();
    explain(data.values[shown[place]]);
  }

  function explain([name, line, operation, scope, use]) {
    const [shape, local, , size, sharding, carrier, picture] = data.uses[use];
    const facts = element("dl", {});
    const rows = [["operation", operation], ["in", scope], ["line", line], ["global shape", shape],
      ["local shape", local], ["per device", size], [carrier || "sharding", sharding]];
    for (const [term, text] of rows) {
      if (text !== "") facts.append(element("dt", { textContent: term }), element("dd", {}, element("code", { textContent: text })));
    }
    detail.replaceChildren(element("h3", { textContent: name }), facts);
    const { svg, text } = data.pictures[picture] || {};
    if (svg) detail.append(element("div", { className: "drawing", innerHTML: svg }));
    if (text) detail.append(element("pre", { textContent: text }));
  }

  table.addEventListener("keydown", (event) => {
    const page = Math.floor(table.clientHeight / HEIGHT) - 2;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
    if (event.target !== table || !(event.key in steps)) return;
    event.preventDefault();
    choose(Math.min(shown.length - 1, Math.max(0, chosen + steps[event.key])));
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      table.focus();
      choose(Math.max(0, chosen));
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && document.activeElement === search) {
      search.value = "";
      filter();
    }
  });
  for (const link of document.querySelectorAll("[data-value]")) {
    link.addEventListener("click", () => {
      search.value = "";
      filter();
      choose(shown.indexOf(Number(link.dataset.value)));
      table.scrollIntoView({ block: "center" });
    });
  }
  table.addEventListener("scroll", () => requestAnimationFrame(paint));
  search.addEventListener("input", filter);
  addEventListener("resize", paint);
  heads();
  filter();
})();
