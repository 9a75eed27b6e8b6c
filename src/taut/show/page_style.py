"""The look of taut's pages, and the few lines of script that a page with chapters has."""

CSS = """
:root { color-scheme: light; --ink: #1d1d1f; --faint: #6b6b70; --line: #e2e2e6; --blue: #0b5c94; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.55 system-ui, -apple-system,
  "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif; }
header, main { max-width: 60rem; margin: 0 auto; padding: 0 1.5rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em;
  overflow-wrap: anywhere; }
header p, .subtitle { color: var(--faint); margin: 0; max-width: 46rem; }
header .warning { color: #a83200; font-weight: 600; margin-top: .5rem; }
header nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 1.2rem 0 0;
  padding: .6rem 0; border-block: 1px solid var(--line); font-size: .9rem; }
a { color: var(--blue); text-decoration: none; } a:hover { text-decoration: underline; }
h2, h3 { font-size: 1.25rem; margin: 2.8rem 0 .6rem; }
h2.chapter { font-size: 1.6rem; line-height: 1.2; letter-spacing: -.01em; margin: 4.5rem 0 .4rem;
  padding-top: 1.4rem; border-top: 2px solid var(--ink); }
main > h2.chapter:first-child { margin-top: 2rem; padding: 0; border: 0; }
p, ul { margin: .6rem 0; max-width: 46rem; } li { margin: .35rem 0; }
sub { font-size: .72em; line-height: 0; }
code, pre { font: .85em/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { background: #f4f4f6; padding: .1em .3em; border-radius: 3px; }
pre { background: #f7f7f9; border: 1px solid var(--line); border-radius: 4px; padding: .8rem 1rem;
  overflow-x: auto; margin: .5rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; min-width: 70%; }
caption { text-align: left; color: var(--faint); padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .9rem .38rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; border-bottom: 1.5px solid var(--ink); }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.6rem 0; } figure .wide { margin: 0; }
/* A picture is as wide as the page; where that is narrow, a touch makes it large and back. */
figure img { display: block; height: auto; max-width: 100%; }
figure img.large { max-width: none; width: min(var(--width), 34rem); }
figcaption { font-size: .88rem; color: var(--faint); max-width: 46rem; margin-top: .3rem; }
figcaption b { color: var(--ink); font-weight: 600; }
.certificate th, .formulas th { font-weight: 400; border-bottom: 1px solid var(--line);
  color: var(--faint); white-space: nowrap; }
.certificate td.good { color: #00694d; } .certificate td.bad { color: #a83200; font-weight: 600; }
.certificate td { font-variant-numeric: tabular-nums; }
.formulas td { width: 100%; } .formulas math { font-size: 1.05rem; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--blue); font-size: .92rem; }
main > :last-child { margin-bottom: 4rem; }

.contents { margin: 1rem 0 0; padding: 0 1.5rem; position: sticky; top: 0; z-index: 1;
  background: #fff; border-block: 1px solid var(--line); }
.contents > summary { padding: .7rem 0; }
.contents nav { font-size: .9rem; line-height: 1.35; max-height: 75vh; overflow-y: auto; }
.contents ul { list-style: none; margin: 0; padding: 0; } .contents li { margin: 0; }
.contents a { display: block; padding: .22rem 0; }
.contents li li a { padding-left: 1rem; color: var(--ink); }
.contents > nav > ul > li { padding: .3rem 0; } .contents > nav > ul > li > a { font-weight: 600; }
.contents a[aria-current] { color: var(--blue); font-weight: 600; }
.book :is(h2, h3, figure, .wide) { scroll-margin-top: 3.6rem; }
@media (min-width: 70rem) {
  .book { display: grid; grid-template-columns: 17rem minmax(0, 64rem); column-gap: 2rem;
    justify-content: center; }
  .book > header { grid-column: 2; margin: 0; max-width: none; }
  .book > main { grid-area: 2 / 2; margin: 0; max-width: none; }
  .book > .contents { grid-area: 1 / 1 / 3 / 2; align-self: start; margin: 0; border: 0;
    padding: 2.6rem 0 0 1.5rem; }
  .contents[open] > summary { display: none; }
  .contents nav { max-height: calc(100vh - 3rem); padding-bottom: 2rem; }
  .contents.followed > nav > ul > li:not(.here) > ul { display: none; }
  .book :is(h2, h3, figure, .wide) { scroll-margin-top: 1rem; }
}
@media (max-width: 48rem) {
  header, main, .contents { padding-inline: 1rem; }
  .prose, .prose :is(caption, tbody, tr) { display: block; } .prose td { display: flow-root; }
  .prose thead, .prose td:empty { display: none; }
  .prose tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .prose td, .prose td.n { border: 0; padding: .12rem 0 .12rem 6rem; white-space: normal; }
  .prose td:first-child { padding-left: 0; font-weight: 600; }
  .prose td[data-head]::before { content: attr(data-head); float: left; width: 5.5rem;
    margin-left: -6rem; color: var(--faint); }
}
@media (max-width: 36rem) { .book figure img { cursor: zoom-in; }
  .book figure img.large { cursor: zoom-out; } }
@media (max-width: 34rem) { header, main { padding-inline: 1rem; } h1 { font-size: 1.45rem; }
  table { font-size: .82rem; } th, td { padding-right: .5rem; } .prose { font-size: .9rem; }
  .certificate th { white-space: normal; } }
@media print { details { display: none; } h2, h3 { break-after: avoid; }
  figure { break-inside: avoid; } }
"""

# Contents stand open where there is room for them, and follow the reader; on a narrow screen they
# close behind a chosen line. Without the script they open and close by hand.
SCRIPT = """
(() => {
  const contents = document.querySelector(".contents"), room = matchMedia("(min-width: 70rem)");
  const links = [...contents.querySelectorAll("a")];
  const places = links.map(a => document.getElementById(decodeURIComponent(a.hash.slice(1))));
  const settle = () => { contents.open = room.matches; };
  const follow = () => {
    let k = places.findLastIndex(place => place.getBoundingClientRect().top < 120);
    k = Math.max(k, 0);
    links.forEach((a, i) => i === k ? a.setAttribute("aria-current", "true")
                                    : a.removeAttribute("aria-current"));
    contents.querySelectorAll(".here").forEach(x => x.classList.remove("here"));
    links[k].closest(".contents > nav > ul > li").classList.add("here");
  };
  contents.classList.add("followed");
  contents.addEventListener("click", event => {
    if (event.target.closest("a") && !room.matches) contents.open = false;
  });
  document.addEventListener("click", event => {
    const picture = event.target.closest("figure img");
    if (picture && innerWidth < 576) picture.classList.toggle("large");
  });
  room.addEventListener("change", settle);
  addEventListener("scroll", follow, { passive: true });
  settle(); follow();
})();
"""
