import { createClient } from "@supabase/supabase-js";
import { createKeyframeClient, mustSucceed } from "../../client/index.ts";

const at = (id) => document.getElementById(id);
const say = (text) => {
  at("status").textContent = text;
};

let keyframe;

/** Calls `work` with the form's fields when it is sent, one at a time, and says what went wrong. */
function onSubmit(id, work) {
  at(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = at(id).querySelector("button");
    button.disabled = true;
    try {
      await work(Object.fromEntries(new FormData(at(id))));
    } catch (error) {
      say(error.message);
    } finally {
      button.disabled = false;
      at("progress").hidden = true;
    }
  });
}

onSubmit("sign-in", async ({ url, key, email, password }) => {
  const supabase = createClient(url, key);
  const { error } = await supabase.auth.signInWithPassword({ email, password });
  if (error) throw error;
  keyframe = createKeyframeClient({
    url,
    apikey: key,
    getToken: async () => {
      const { data, error } = await supabase.auth.getSession(); // refreshes an expired session
      if (error) throw error;
      return data.session?.access_token ?? null;
    },
  });
  at("sign-in").hidden = true;
  at("film").hidden = false;
  say(`Signed in as ${email}.`);
});

onSubmit("film", async ({ title, first, last, image }) => {
  at("results").replaceChildren();
  const { projectId } = await keyframe.createProject({ title, textPrompt: first });
  const look = image.size > 0 ? await keyframe.uploadReferenceImage(image) : {};
  await make("first-frame", { projectId, ...look });
  await make("last-frame", { projectId, ...look, ...(last ? { prompt: last } : {}) });
  await make("video", { projectId });
  say("Done.");
});

/** Runs a step to its end and shows its picture or video. Throws what went wrong, in a sentence. */
async function make(step, body) {
  const onProgress = ({ status, progress, queuePosition }) => {
    say(`${step}: ${status}${queuePosition ? `, number ${queuePosition} in the queue` : ""}`);
    at("progress").hidden = false;
    if (progress === null) at("progress").removeAttribute("value");
    else at("progress").value = progress;
  };
  const { output } = mustSucceed(await keyframe.waitFor(await keyframe.generate(step, body), { onProgress }));
  const isVideo = !output.contentType.startsWith("image/");
  const shown = document.createElement(isVideo ? "video" : "img");
  if (isVideo) Object.assign(shown, { controls: true, muted: true, loop: true });
  else shown.alt = `The ${step.replace("-", " ")}`;
  Object.assign(shown, { id: step, src: output.url });
  at("results").append(shown);
}
