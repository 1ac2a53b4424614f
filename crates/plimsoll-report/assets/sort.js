// Lets the tables of steps be sorted by a column. Without it, rows stand in the order of the plan.
(() => {
  "use strict";
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const planned = [...body.rows];
    const headings = [...table.tHead.rows[0].cells];
    const keyOf = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
    };
    // Numbers before texts, and what was not measured ("–" has no value) always last.
    const compare = (a, b) => {
      if (typeof a === "number" && typeof b === "number") return a - b;
      if (typeof a === "string" && typeof b === "string") return a.localeCompare(b);
      return 0;
    };
    const isEmpty = (key) => key === "–";
    const sort = (column, direction) => {
      const rows = direction === "none" ? planned : [...planned].sort((a, b) => {
        const [left, right] = [keyOf(a, column), keyOf(b, column)];
        if (isEmpty(left) || isEmpty(right)) return isEmpty(left) - isEmpty(right);
        return direction === "ascending" ? compare(left, right) : compare(right, left);
      });
      body.append(...rows);
      headings.forEach((heading, index) => {
        if (index === column && direction !== "none") heading.setAttribute("aria-sort", direction);
        else heading.removeAttribute("aria-sort");
      });
    };
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.title = "sort by this column; the third press brings back the order of the plan";
      // Numbers are asked for with the largest first, names from A on.
      const isText = column === 0 || heading.classList.contains("text");
      const turns = isText ? ["ascending", "descending", "none"] : ["descending", "ascending", "none"];
      button.addEventListener("click", () => {
        const at = turns.indexOf(heading.getAttribute("aria-sort") ?? "none");
        sort(column, turns[(at + 1) % turns.length]);
      });
      heading.replaceChildren(button);
    });
  }
})();
