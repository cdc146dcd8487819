// Search without a server: every section's text stands in index.js. A section is found when it holds all words; words in its heading count more.
(function () {
  const input = document.getElementById("search"), list = document.getElementById("found");

  function score(section, words) {
    let sum = 0;
    for (const word of words) {
      const inTitle = section.title.toLowerCase().includes(word), inText = section.text.includes(word);
      if (!inTitle && !inText) return 0;
      sum += inTitle ? 10 : 1;
    }
    return sum;
  }

  function item(section) {
    const line = document.createElement("li"), link = document.createElement("a"), page = document.createElement("small");
    link.href = root + section.url;
    link.textContent = section.title;
    page.textContent = section.page;
    line.append(link, page);
    return line;
  }

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? sections.map(s => [score(s, words), s]).filter(h => h[0] > 0) : [];
    hits.sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...hits.slice(0, 20).map(h => item(h[1])));
    if (words.length && !hits.length) list.append("Nothing found.");
    list.hidden = !words.length;
  }

  input.addEventListener("input", search);
  input.addEventListener("keydown", event => {
    if (event.key === "Escape") { input.value = ""; search(); }
    if (event.key === "Enter" && list.querySelector("a")) list.querySelector("a").click();
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  });
})();
