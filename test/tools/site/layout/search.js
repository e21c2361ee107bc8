// Search of the documentation. The index is a script, search-index.js, because pages that come
// from files may not fetch; all text goes into the page as text, never as HTML.
"use strict";
(() => {
  const most = 40;
  const box = document.getElementById("Find");
  const input = document.getElementById("Query");
  const panel = document.getElementById("Found");
  const count = document.getElementById("Count");
  const list = document.getElementById("Results");
  const index = window.fairleadIndex;
  if (!index) return;
  const root = document.documentElement.dataset.root;
  const kinds = { p: 12, t: 8, h: 4, m: 1 };

  // words writes names of code as words, too: "HostAlreadyClaimed" is found by "claimed".
  const words = (text) => (text + " " + text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_.\/:-]+/g, " ")).toLowerCase();

  // known is the index in the form that is searched, made soon after the page is shown.
  let known = null;
  const know = () => {
    known ??= index.entries.map(([page, id, text, kind, about]) => ({
      page, id, text, kind, about, plain: text.toLowerCase(), name: words(text), title: index.pages[page][1].toLowerCase(), rest: about.toLowerCase(),
    }));
    return known;
  };

  // score says how well an entry fits, or 0 if it has not all the words.
  const score = (entry, query, tokens) => {
    let sum = kinds[entry.kind];
    for (const token of tokens) {
      const at = entry.name.indexOf(token);
      if (at === 0) sum += 40;
      else if (at > 0 && entry.name[at - 1] === " ") sum += 25;
      else if (at > 0) sum += 12;
      else if (entry.title.includes(token)) sum += 6;
      else if (entry.rest.includes(token)) sum += 2;
      else return 0;
    }
    if (entry.plain === query) sum += 200;
    else if (entry.plain.startsWith(query)) sum += 60;
    else if (entry.plain.includes(query)) sum += 30;
    return sum;
  };

  const find = (query) => {
    const tokens = query.split(/\s+/);
    const found = [];
    for (const entry of know()) {
      const value = score(entry, query, tokens);
      if (value > 0) found.push([value, entry]);
    }
    return found.sort((a, b) => b[0] - a[0] || a[1].text.length - b[1].text.length || a[1].page - b[1].page).map(([, entry]) => entry);
  };

  // on returns the pages whose text has a word that begins with a token: a set, or null for all.
  const on = (token) => {
    const pages = new Set();
    for (const word in index.words) {
      if (!word.startsWith(token)) continue;
      if (index.words[word].length === 0) return null;
      for (const page of index.words[word]) pages.add(page);
    }
    return pages;
  };

  // mentions returns pages whose text has all the words, without those that were found by name.
  const mentions = (query, found) => {
    const named = new Set(found.map((entry) => entry.page));
    const sets = query.split(/[\s_.\/:]+/).filter((token) => token.length > 2).map(on).filter(Boolean);
    if (sets.length === 0) return [];
    return [...sets[0]].filter((page) => !named.has(page) && sets.every((set) => set.has(page)))
      .map((page) => ({ page, id: "", text: index.pages[page][1], kind: "p", about: "in its text" }));
  };

  const row = (entry) => {
    const [url, title] = index.pages[entry.page];
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = root + url + (entry.id ? "#" + encodeURIComponent(entry.id) : "");
    const name = document.createElement("b");
    name.textContent = entry.text;
    const where = document.createElement("span");
    where.textContent = [entry.kind === "p" ? url : title, entry.about].filter(Boolean).join(" · ");
    link.append(name, where);
    item.append(link);
    return item;
  };

  const show = () => {
    const query = input.value.trim().toLowerCase();
    panel.hidden = query === "";
    if (query === "") {
      list.replaceChildren();
      count.textContent = "";
      return;
    }
    const found = find(query);
    if (found.length < most) found.push(...mentions(query, found));
    list.replaceChildren(...found.slice(0, most).map(row));
    count.textContent = found.length === 0 ? "Nothing is found. Try fewer or other words." :
      found.length > most ? `${found.length} entries, the first ${most} are shown` : found.length === 1 ? "1 entry" : `${found.length} entries`;
  };

  // move gives the focus to the next result or the one before; before the first is the field.
  const move = (step) => {
    const links = [...list.querySelectorAll("a")];
    const next = links.indexOf(document.activeElement) + step;
    (next < 0 ? input : links[Math.min(next, links.length - 1)] ?? input).focus();
  };

  const close = () => {
    input.value = "";
    show();
    input.focus();
  };

  input.addEventListener("input", show);
  setTimeout(know, 50);
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === input) list.querySelector("a")?.click();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || writes || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    input.focus();
  });
  // A result on the same page leads to another place of it.
  list.addEventListener("click", (event) => {
    if (event.target.closest("a")) panel.hidden = true;
  });
  document.addEventListener("click", (event) => {
    if (!box.contains(event.target)) panel.hidden = true;
  });
  box.hidden = false;
})();
