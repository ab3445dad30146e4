import type { Step } from "../../../client/index.ts";

/** Under which names the queries of projects are kept. */
export const projectKeys = {
  list: ["projects"] as const,
  one: (projectId: string) => ["project", projectId] as const,
  runs: (projectId: string, step: Step) => ["runs", projectId, step] as const,
  watch: (predictionId: string) => ["watch", predictionId] as const,
};
