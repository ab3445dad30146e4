import { expect, test } from "vitest";
import { progressLine } from "../../local/simulator/run-prediction.ts";
import { parseProgress } from "../../shared/replicate/provider-prediction.ts";

test.each([
  ["no logs", null, null],
  ["empty logs", "", null],
  ["prose with a per cent sign", "GPU memory: 95% used\nLoading weights", null],
  ["one bar", " 25%|██▌       | 12/48 [00:03<00:09]", 0.25],
  ["several bars on lines", "  0%|          | 0/4\n 50%|█████     | 2/4\n 75%|███████▌  | 3/4\n", 0.75],
  ["bars redrawn with carriage returns", "\r 10%|█         | 1/10\r 20%|██        | 2/10", 0.2],
  ["a bar with a label", "video:  45%|████▌     | 45/100 [00:12<00:15,  3.7it/s]", 0.45],
  ["a bar before other lines", "100%|██████████| 10/10\nEncoding\nUploading", 1],
  ["more than all", "140%|██████████| 14/10", 1],
  ["half a bar cut off at the end", " 30%|███       | 3/10\n 40", 0.3],
])("logs with %s → %s", (_name, logs, progress) => {
  expect(parseProgress(logs)).toBe(progress);
});

test("logs of a megabyte → only their end is read", () => {
  expect(parseProgress(`${"x".repeat(1024 * 1024)}\n 60%|██████    | 6/10`)).toBe(0.6);
});

test("the simulator's own lines → its share", () => {
  expect(parseProgress(progressLine(12, 48, 3))).toBe(0.25);
});
