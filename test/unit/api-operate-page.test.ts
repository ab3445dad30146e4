import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT as ROOT } from "../../local/stack/project-root.ts";
import { metricsOf } from "../../supabase/functions/api/routes/metrics.ts";
import { sampleFigures } from "./api-figures.ts";

const page = await readFile(join(ROOT, "docs/operate.md"), "utf8");
const section = (title: string) => page.split(/^## /m).find((one) => one.startsWith(title)) ?? "";

const metrics = metricsOf(sampleFigures());

test("every alert asks for a metric that there is, with a label value that there is", () => {
  const asked = [
    ...section("When to alert").matchAll(/(keyframe_(?!kick_secret|functions_url)\w+)(?:\{(\w+)="([^"]+)"\})?/g),
  ];
  expect(asked.length).toBeGreaterThan(12);
  for (const [whole, name, label, value] of asked) {
    const samples = metrics.find((metric) => metric.name === name)?.samples ?? [];
    const fits = samples.some(({ labels = {} }) =>
      label === undefined ? Object.keys(labels).length === 0 : labels[label] === value,
    );
    expect([whole, fits]).toEqual([whole, true]);
  }
});

test("every event that a function logs is explained, and no other", async () => {
  const found = new Set<string>();
  for (const folder of ["supabase/functions", "shared"]) {
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!file.endsWith(".ts")) continue;
      const source = await readFile(join(ROOT, folder, file), "utf8");
      for (const [, event = ""] of source.matchAll(/\blog(?:\.(?:info|warn|error)|\[[^\]]+\]+)\(\s*"([a-z_]+)"/g))
        found.add(event);
    }
  }
  const rows = section("Logs")
    .split("\n")
    .filter((row) => row.startsWith("| ") && row.includes("`"));
  const told = rows.flatMap((row) => [...(row.split(" | ")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, event]) => event));
  expect(told.toSorted()).toEqual([...found].toSorted());
});
