"use strict";
(() => {
  const root = document.documentElement;
  const hash = () => new Map(location.hash.slice(1).split("&").filter((part) => part.includes("="))
    .map((part) => part.split("=").map(decodeURIComponent)));

  // --- Theme: as the system says, until another is chosen ---
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const kept = () => { try { return localStorage.getItem("vostok-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("vostok-theme", theme); } catch { /* a page of its own */ } };
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  let theme = themes.includes(kept()) ? kept() : "auto";
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    keep(theme);
    show(theme);
  });

  // --- Sorting ---
  // What is empty comes last in both orders.
  const compare = (a, b, down) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return down ? -order : order;
  };
  const mark = (heads, column, down) => heads.forEach((head, index) => {
    if (index === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });

  // --- Tables that are whole in the page ---
  const value = (cell) => {
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const words = cell.textContent.trim();
    return words === "" || words === "-" ? null : words;
  };
  const sorts = new Map();
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const holder = table.closest(".table");
    let column = -1, down = false;
    const sort = (next, order) => {
      down = order ?? (next === column ? !down : heads[next].classList.contains("num"));
      column = next;
      const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
      rows.sort((a, b) => compare(a[0], b[0], down));
      body.append(...rows.map((row) => row[1]));
      mark(heads, column, down);
    };
    heads.forEach((head, index) => head.firstElementChild.addEventListener("click", () => sort(index)));
    if (holder.id) sorts.set(holder.id, sort);
    const search = holder.querySelector(".search");
    if (search) search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
  }

  // --- The table of all problems: made here, a part at a time ---
  const data = JSON.parse(document.getElementById("problems-data").textContent);
  const count = data.columns[0].length;
  const cells = data.columns.map((column, index) => data.numeric[index] ? column : column.map((word) => word === null ? null : data.words[word]));
  const texts = Array.from({ length: count }, (_, row) => cells.map((column) => column[row] ?? "").join(" ").toLowerCase());
  const table = document.getElementById("problems-table"), filter = document.getElementById("problems-filter");
  const more = document.getElementById("problems-more"), told = document.getElementById("problems-count");
  const selects = [...document.querySelectorAll("#problems select")];
  const part = 25;
  let order = Array.from({ length: count }, (_, row) => row), column = -1, down = false, shown = part, matching = [];

  const line = (row) => {
    const made = document.createElement("tr");
    cells.forEach((values, index) => {
      const cell = document.createElement("td"), content = values[row];
      if (data.numeric[index]) cell.className = "num";
      if (data.keys[index] === "matrix") cell.className = "name";
      if ((data.keys[index] === "sparse" || data.keys[index] === "dense") && content !== null && content < 1) cell.classList.add("bad");
      if (data.keys[index] === "matrix") cell.append(...String(content ?? "").split(/(?<=[/_])/).flatMap((piece) => [piece, document.createElement("wbr")]));
      else cell.textContent = content ?? "";
      made.append(cell);
    });
    return made;
  };
  const render = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const chosen = selects.filter((select) => select.value).map((select) => [data.keys.indexOf(select.dataset.column), select.value]);
    matching = order.filter((row) => words.every((word) => texts[row].includes(word)) && chosen.every(([index, wanted]) => cells[index][row] === wanted));
    table.tBodies[0].replaceChildren(...matching.slice(0, shown).map(line));
    told.textContent = `${matching.length.toLocaleString("en")} of ${count.toLocaleString("en")} rows`;
    more.hidden = matching.length <= shown;
  };
  const heads = data.heads.map((title, index) => {
    const head = document.createElement("th"), press = document.createElement("button");
    head.scope = "col";
    if (data.numeric[index]) head.className = "num";
    press.type = "button";
    press.textContent = title;
    press.addEventListener("click", () => sortProblems(index));
    head.append(press);
    return head;
  });
  const headRow = document.createElement("tr");
  headRow.append(...heads);
  table.tHead.append(headRow);
  const sortProblems = (next, wanted) => {
    down = wanted ?? (next === column ? !down : false);
    column = next;
    order.sort((a, b) => compare(cells[column][a], cells[column][b], down) || a - b);
    mark(heads, column, down);
    shown = part;
    render();
  };
  for (const select of selects) {
    const values = [...new Set(cells[data.keys.indexOf(select.dataset.column)])].filter(Boolean).sort();
    select.append(...values.map((word) => new Option(word, word)));
    select.addEventListener("change", () => { shown = part; render(); });
  }
  filter.addEventListener("input", () => { shown = part; render(); });
  more.addEventListener("click", () => { shown += 4 * part; render(); });

  // --- What an address asks for: #theme=dark, #filter=softmax, #sort=ours, #sort=-ours, #sort=NUMBER&table=ID ---
  const follow = () => {
    const wanted = hash();
    show(themes.includes(wanted.get("theme")) ? wanted.get("theme") : theme);
    if (wanted.has("filter")) filter.value = wanted.get("filter");
    const key = wanted.get("sort") ?? "", falls = key.startsWith("-"), name = key.replace(/^-/, "");
    const other = sorts.get(wanted.get("table"));
    if (other && key) other(Number(name), falls);
    else if (data.keys.includes(name)) { sortProblems(data.keys.indexOf(name), falls); return; }
    render();
  };
  addEventListener("hashchange", follow);
  follow();
})();
