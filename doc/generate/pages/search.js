// Search without a server: index.js holds the text of every section. A section is found when it has every word of the query, or a synonym
// of it. Headings count more than text, guides more than references, words more than synonyms.
(function () {
  const input = document.getElementById("search"), list = document.getElementById("found");

  // Words of users → words of the manual.
  const SYNONYMS = {
    powerwall: ["energy site", "home battery"], wallbox: ["charge port"], panels: ["solar"], reserve: ["backup"], battery: ["battery_level", "powerwall"], soc: ["battery_level"], solar: ["sun"], kwh: ["energy_history"],
    login: ["sign in", "signing in", "consent"], signin: ["sign in"], account: ["sign in"], password: ["secret", "passphrase"], credentials: ["token"],
    service: ["systemd"], autostart: ["systemd"], cron: ["systemd"], daemon: ["systemd"], boot: ["systemd"], docker: ["container"], container: ["systemd"],
    raspberry: ["arm"], pi: ["arm"], ubuntu: ["debian"], windows: ["window_control"], mac: ["macos"],
    price: ["cost", "usd"], money: ["cost"], bill: ["cost", "billed"], credit: ["cost"], cheap: ["cheapest"], free: ["cost"],
    lock: ["door_lock"], unlock: ["door_unlock"], trunk: ["actuate_trunk"], frunk: ["front trunk", "open_frunk"], bonnet: ["front trunk"], plug: ["charge port", "plugged"], cable: ["charge port"], horn: ["honk_horn"], heat: ["climate", "precondition"],
    hvac: ["climate"], temperature: ["set_temps", "climate"], charge: ["charging"], location: ["locate"], gps: ["locate"], where: ["locate"],
    hass: ["home assistant"], homeassistant: ["home assistant"], prometheus: ["metrics"], grafana: ["metrics"],
    error: ["fails"], problem: ["fails"], retry: ["repeat"], sleep: ["asleep"], poll: ["every"], async: ["task"], thread: ["task"], loop: ["event loop"],
    timezone: ["zone"], dst: ["local day"], export: ["csv"], cluster: ["redis"], test: ["simulator"], mock: ["simulator"], curl: ["proxy"], rest: ["proxy"],
    uninstall: ["make uninstall"], package: ["debian"], logout: ["sign out"], pair: ["key card", "pairing"], schedule: ["sync_schedules"],
  };
  const IDLE = new Set("a an and are at be by can do does fleet for from get has have how i in is it me my of on or the to use using what when why with".split(" "));

  function stem(word) {
    return word.length > 5 ? word.replace(/(ing|ed|es|s)$/, "") : word;
  }

  // 0 where the text has none; else more for a hit at the beginning of a word.
  function found(text, word) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    return at === 0 || /[^a-z0-9]/.test(text[at - 1]) || text.search(new RegExp("[^a-z0-9]" + word.replace(/\W/g, "\\$&"))) >= 0 ? 1 : .3;
  }

  function weight(section, word) {
    const times = Math.min(section.text.split(word).length - 1, 4);
    return found(section.title.toLowerCase(), word) * 12 + found(section.page.toLowerCase(), word) * 6 + found(section.text, word) * (1 + times / 2);
  }

  function score(section, words) {
    let sum = 0;
    for (const word of words) {
      let best = weight(section, stem(word));
      for (const other of SYNONYMS[word] || SYNONYMS[stem(word)] || []) best = Math.max(best, weight(section, other) * .7);
      if (!best) return 0;
      sum += best;
    }
    return sum * section.weight;
  }

  // A line of the section around the first word, with all words marked.
  function excerpt(section, words) {
    const wanted = words.flatMap(word => [stem(word), ...(SYNONYMS[word] || SYNONYMS[stem(word)] || [])]);
    const places = wanted.map(word => section.text.indexOf(word)).filter(at => at >= 0);
    const from = Math.max(0, (places.length ? Math.min(...places) : 0) - 40), line = document.createElement("small");
    const text = (from ? "…" : "") + section.text.slice(from, from + 150).trim();
    const pattern = new RegExp("(" + wanted.map(word => word.replace(/\W/g, "\\$&")).join("|") + ")");
    text.split(pattern).forEach((part, i) => {
      if (i % 2 === 0) return line.append(part);
      const mark = document.createElement("mark");
      mark.textContent = part;
      line.append(mark);
    });
    return line;
  }

  function item(section, words) {
    const line = document.createElement("li"), link = document.createElement("a"), page = document.createElement("small");
    link.href = root + section.url;
    link.textContent = section.title;
    page.textContent = section.page;
    line.append(link, section.page === section.title ? "" : page, excerpt(section, words));
    return line;
  }

  function hits(words) {
    const all = sections.map(section => [score(section, words), section]).filter(hit => hit[0] > 0).sort((a, b) => b[0] - a[0]);
    const of_page = {};
    return all.filter(hit => (of_page[hit[1].page] = (of_page[hit[1].page] || 0) + 1) <= 3).slice(0, 20).map(hit => hit[1]);
  }

  function search() {
    const typed = input.value.toLowerCase().split(/[\s,?!]+/).filter(Boolean);
    const words = typed.filter(word => !IDLE.has(word));
    const result = words.length ? hits(words) : [];
    list.replaceChildren(...result.map(section => item(section, words)));
    if (words.length && !result.length) list.append("Nothing found. Try another word, or fewer.");
    if (list.querySelector("li")) list.querySelector("li").className = "chosen";
    list.hidden = !words.length;
  }

  function choose(step) {
    const items = [...list.querySelectorAll("li")], at = items.findIndex(line => line.className === "chosen");
    if (!items.length) return;
    items[at].className = "";
    const next = items[Math.min(Math.max(at + step, 0), items.length - 1)];
    next.className = "chosen";
    next.scrollIntoView({ block: "nearest" });
  }

  input.addEventListener("input", search);
  input.addEventListener("keydown", event => {
    const chosen = list.querySelector(".chosen a");
    if (event.key === "Escape") { input.value = ""; search(); }
    if (event.key === "ArrowDown") { event.preventDefault(); choose(1); }
    if (event.key === "ArrowUp") { event.preventDefault(); choose(-1); }
    if (event.key === "Enter" && chosen) { chosen.click(); list.hidden = true; }
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
  });
  document.addEventListener("click", event => { if (!event.target.closest("header")) list.hidden = true; });

  // A link to each heading, and to a search: manual.html?q=powerwall.
  for (const heading of document.querySelectorAll("article :is(h2, h3)[id]")) {
    const link = document.createElement("a");
    link.className = "anchor";
    link.href = "#" + heading.id;
    link.textContent = "#";
    link.setAttribute("aria-label", "Link to this section");
    heading.append(link);
  }
  const contents = document.querySelector(".contents");
  if (contents && matchMedia("(max-width: 83.9rem)").matches) contents.open = false;
  const current = document.querySelector("#pages [aria-current]");
  if (current && matchMedia("(min-width: 60rem)").matches) current.scrollIntoView({ block: "center" });
  if (current) scrollTo(0, location.hash ? scrollY : 0);
  input.value = new URLSearchParams(location.search).get("q") || "";
  if (input.value) search();
})();
