// Bundles vendor.js into src/taut/show/assets, with the versions and licences of what is in it.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = new URL("../../src/taut/show/assets/", import.meta.url);
const libraries = ["three", "uplot"];
const read = (path) => readFileSync(new URL(path, import.meta.url), "utf-8");
const versions = libraries.map((name) => {
  const { version, license } = JSON.parse(read(`node_modules/${name}/package.json`));
  return `${name} ${version} (${license})`;
});
const banner = `/* ${versions.join(", ")}; see vendor.LICENSE.txt */`;
const common = { bundle: true, minify: true, legalComments: "none", target: "es2020" };

await build({
  ...common, entryPoints: ["vendor.js"], format: "iife", globalName: "vendor",
  banner: { js: banner }, outfile: new URL("vendor.min.js", target).pathname,
});
await build({
  ...common, entryPoints: ["node_modules/uplot/dist/uPlot.min.css"], banner: { css: banner },
  outfile: new URL("vendor.min.css", target).pathname,
});
const licences = libraries.map((name, k) => `${versions[k]}\n\n${read(`node_modules/${name}/LICENSE`)}`);
writeFileSync(new URL("vendor.LICENSE.txt", target), licences.join("\n\n----\n\n"));
