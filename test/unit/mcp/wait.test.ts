import { expect, test } from "vitest";
import { SAMPLE, SAMPLE_PREDICTION } from "../../../shared/contract/samples.ts";
import { callTool } from "../../../supabase/functions/keyframe-mcp/call-tool.ts";

/** A proxy that keeps an answer until it is complete gives it 30 seconds. */
const PROXY_MS = 30_000;

test.each([
  ["holds each look as long as it may", (seconds: number) => seconds * 1_000],
  ["answers each look after 0.3 s", () => 300],
  ["takes 4 s for each look beyond its hold", (seconds: number) => seconds * 1_000 + 4_000],
])(
  "the tool wait for an endless run, with an API that %s → answered within 30 s, with what to do",
  async (_what, takes) => {
    let now = 0;
    const progress: number[] = [];
    const result = await callTool(
      "wait",
      { projectId: SAMPLE.projectId, predictionId: SAMPLE.videoId, step: "video" },
      { authorization: "", requestId: "r", signal: new AbortController().signal },
      async (at) => void progress.push(at.progress),
      undefined,
      {
        callOperation: async (_id, _args, { headers: { prefer = "" } = {} }) => {
          now += takes(Number(prefer.replace("wait=", "")));
          const data = { ...SAMPLE_PREDICTION, status: "processing", completedAt: null, output: null };
          return { success: true, data, error: null, retryAfter: null };
        },
        readPictures: async () => [],
        elapsed: () => now,
        sleep: async (ms) => {
          now += ms;
        },
      },
    );
    expect(JSON.stringify(result?.content)).toContain("It is processing. Call wait again with the same arguments.");
    expect(progress.length).toBeGreaterThanOrEqual(2);
    expect(now).toBeGreaterThan(PROXY_MS - 6_000);
    expect(now).toBeLessThan(PROXY_MS);
  },
);
