import { createKeyframeClient, type KeyframeOptions, mustSucceed, type Prediction } from "../../client/index.ts";

/** The first page shows it, and the build runs it on the local stack. Returns the video. */
export async function makeShot(session: KeyframeOptions, onProgress: (state: Prediction) => void): Promise<Prediction> {
  // #region shown
  const keyframe = createKeyframeClient(session); // { url, apikey, getToken }: your Supabase project and its user

  const { projectId } = await keyframe.projects.create({
    title: "Harbour",
    textPrompt: "A harbour at dawn, one red boat",
  });
  mustSucceed(await keyframe.waitFor(await keyframe.generate("first-frame", { projectId })));

  const started = await keyframe.generate("video", { projectId, durationSeconds: 5 });
  const video = mustSucceed(await keyframe.waitFor(started, { onProgress }));
  return video; // video.output.url is in your Storage, video.cost is what it has cost
  // #endregion
}
