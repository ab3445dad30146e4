import { defineConfig } from "vitest/config";

const patience = { testTimeout: 30_000, hookTimeout: 90_000 };

export default defineConfig({
  test: {
    // More workers than the two cores of the machines this has to pass on: most tests wait for a server most of the time.
    maxWorkers: 4,
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
