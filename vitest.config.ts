import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// A machine with other work takes four times as long: no test has a shorter limit of its own.
const patience = { testTimeout: 120_000, hookTimeout: 180_000, expect: { poll: { timeout: 60_000 } } };

// Every answer of the API that any test gets is held against openapi.json.
const setupFiles = ["test/support/openapi/setup.ts"];

// openapi-typescript needs the compiler API of TypeScript 5, which TypeScript 7 no longer has. npm installs 5 for @supabase/lite, where
// package-lock.json puts it; a second one of ours would take the place of `tsc`.
const typescript5 = new URL("node_modules/@supabase/lite/node_modules/typescript/lib/typescript.js", import.meta.url);

/** Long and seldom red: pages in a browser, the functions on the hosted platform's Deno, simulations. */
const SLOW = ["test/e2e/{dashboard-,example-,studio.}*", "test/unit/**/hosted-*", "test/unit/**/*-simulation.test.ts"];

// A process of its own for each of 200 files took a tenth of the whole run. No file leaves a mock, a timer or a server behind.
const project = (name: string, include: string, more: object) => ({
  test: { name, include: [`test/${include}/**/*.test.ts`], setupFiles, isolate: false, ...patience, ...more },
});
const withStack = { globalSetup: ["test/support/stack/global-setup.ts"] };
const unit = project("unit", "unit", {
  exclude: SLOW,
  alias: { typescript: fileURLToPath(typescript5) },
  server: { deps: { inline: ["openapi-typescript"] } },
});
const stack = project("stack", "{db,api,e2e,faults,security,conformance}", { exclude: SLOW, ...withStack });
const slow = project("slow", "", { include: SLOW, ...withStack });
const lab = project("lab", "lab", withStack);
const tools = project("tools", "tools", {});

/** What runs with `--mode`; "test" is Vitest's own default. */
const MODES: Record<string, ReturnType<typeof project>[]> = {
  test: [unit, stack],
  slow: [slow],
  lab: [lab],
  tools: [tools],
  all: [tools, lab, slow, unit, stack], // the longest files first
};

export default defineConfig(({ mode }) => ({
  test: {
    // More workers than the two cores of the machines this has to pass on: most tests wait for a server most of the time.
    maxWorkers: 4,
    // postgres.js asks a new connection for its array types outside of any promise that its user could catch. The gateway
    // passes over that (local/platform/main.ts); here, where tests kill Postgres under it, it must not fail the run.
    onUnhandledError: (error) => !("query" in error && String(error.query).includes("typarray")),
    projects: MODES[mode] ?? [],
  },
}));
