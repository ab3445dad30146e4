import { defineConfig } from "vitest/config";

const patience = { testTimeout: 30_000, hookTimeout: 90_000 };

export default defineConfig({
  test: {
    // Two workers: the machines this has to pass on have two cores, and the stack runs beside the tests.
    maxWorkers: 2,
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts", "test/conformance/**/*.test.ts"], ...patience } },
      {
        test: {
          name: "stack",
          include: ["test/{db,api,e2e,faults}/**/*.test.ts"],
          globalSetup: ["test/support/global-setup.ts"],
          ...patience,
        },
      },
    ],
  },
});
