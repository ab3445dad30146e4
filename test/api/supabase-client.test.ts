import { FunctionRegion } from "@supabase/supabase-js";
import { expect, test } from "vitest";
import { z } from "zod";
import { prediction, uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp } from "../support/api/user.ts";
import { until } from "../support/until.ts";

// The way an app with supabase-js calls: `functions.invoke` sends session and apikey by itself.

const success = z.object({ success: z.literal(true), data: z.unknown(), error: z.null() });

test("functions.invoke: project → reference image → first frame → its file", async () => {
  const { supabase } = await signUp();
  const invoke = async <Data extends z.ZodType>(
    schema: Data,
    path: string,
    options: Parameters<typeof supabase.functions.invoke>[1],
  ) => {
    const { data, error } = await supabase.functions.invoke<unknown>(path, options);
    if (error) throw error;
    return schema.parse(success.parse(data).data);
  };
  const body = { title: "Harbour", textPrompt: "A harbour at dawn" };
  const { projectId } = await invoke(project, "api/projects", { body });
  const file = new File([await drawImage("jpeg")], "look.jpg", { type: "image/jpeg" });
  const form = new FormData();
  form.append("file", file);
  const { referenceImagePath } = await invoke(uploadedReferenceImage, "api/projects/reference-images", { body: form });
  const { predictionId } = await invoke(prediction, "api/projects/generate/first-frame", {
    body: { projectId, referenceImagePath },
  });
  const query = new URLSearchParams({ projectId, predictionId });
  const done = await until("the first frame", async () => {
    const now = await invoke(prediction, `api/projects/generate/first-frame?${query}`, { method: "GET" });
    return now.completedAt === null ? undefined : now;
  });
  expect(done.status).toBe("succeeded");
  const { data, error } = await supabase.storage.from("keyframe-outputs").download(done.output?.path ?? "");
  expect([error, data?.size]).toEqual([null, done.output?.bytes]);
});

test("functions.invoke with a region → answered: the parameter it adds is for the platform", async () => {
  const { supabase } = await signUp();
  const body = { title: "Harbour", textPrompt: "A harbour at dawn" };
  const { data, error } = await supabase.functions.invoke("api/projects", { body, region: FunctionRegion.EuCentral1 });
  expect([error, success.parse(data).success]).toEqual([null, true]);
});
