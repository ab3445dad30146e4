import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../client/index.ts";
import type { Step } from "../../shared/contract/fields.ts";
import { callOf, commandOf, followReferences, type Place, wordOf } from "../../site/api-document.ts";
import { openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { furnish, newPerson } from "../support/dashboard/person.ts";
import { drawImage } from "../support/media/images.ts";
import { type Example, openApi, places } from "../support/openapi/document.ts";
import { answers } from "../support/receiver/habits.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";

// What the API reference of the site shows: each example is run, with an id in place of each word in capitals.

const { url, secretKey } = inject("stack");
let receiver: FlowReceiver;
let folder: string;
beforeAll(async () => {
  receiver = await startFlowReceiver(answers(204));
  folder = await Deno.makeTempDir({ prefix: "keyframe-curl-" });
  await Deno.writeFile(`${folder}/image.png`, await drawImage());
});
afterAll(async () => {
  await receiver?.close();
  await Deno.remove(folder, { recursive: true });
});

/** Somebody with everything the examples speak of. */
async function filmMaker() {
  const person = await newPerson();
  const { keyframe } = person;
  const { projectId, filmId, webhookId } = await furnish(person, receiver.url);
  const { referenceImagePath } = await keyframe.uploadReferenceImage(await drawImage());
  await keyframe.waitFor(await keyframe.generate("first-frame", { projectId, referenceImagePath }));
  const { predictions } = await keyframe.readProject(projectId);
  const [firstFrameId, lastFrameId, videoId] = (["first-frame", "last-frame", "video"] as const).map(
    (step) => predictions[step]?.predictionId,
  );
  const user = {
    start: (step: Step, body: object) => keyframe.generate(step, { projectId, ...body }),
    read: (step: Step, _project: string, predictionId?: string) =>
      keyframe.readPrediction({ step, projectId, predictionId: predictionId ?? "" }),
  };
  const running = await startStuck(openDatabase(), user, "last-frame", projectId);
  const { deliveryId } = await keyframe.webhooks.test(webhookId);
  const { shareId, token: shareToken } = await keyframe.films.share(filmId);
  const { elementId } = await keyframe.elements.create({ name: "Harbour" });
  const quoted = await keyframe.estimate("first-frame", { projectId }, { quote: true });
  const own = {
    ...{ elementId, shareId, shareToken, quoteId: quoted.quoteId ?? "" },
    projectId,
    filmId,
    webhookId,
    deliveryId,
    firstFrameId,
    lastFrameId,
    videoId,
    referenceImagePath,
  };
  return { ...person, own, running };
}

/** Pastes a command into a shell, beside an image to upload. */
async function paste(command: string, token: string, userId: string): Promise<{ status: number; answer: string }> {
  const env = { TOKEN: token, SECRET_KEY: secretKey, USER_ID: userId };
  const shell = new Deno.Command("bash", { args: ["-c", `${command} -s -w '\n%{http_code}'`], cwd: folder, env });
  const lines = new TextDecoder().decode((await shell.output()).stdout).split("\n");
  return { status: Number(lines.pop()), answer: lines.join("\n") };
}

/** Makes a call of the typed client as it is shown. */
async function make(call: string, keyframe: KeyframeClient): Promise<void> {
  const image = new Blob([await drawImage()]);
  await new Function("keyframe", "image", `return (async () => { ${call} })()`)(keyframe, image);
}

/** What an example deletes, cancels or revokes: the word that stands for it → something for this once. */
const doomed = (keyframe: KeyframeClient, running: { projectId: string; predictionId: string }) => {
  const project = async () => (await keyframe.createProject({ title: "Doomed", textPrompt: "A" })).projectId;
  const words: Record<string, () => Promise<Record<string, string>>> = {
    cancelPrediction: async () => ({ PROJECT_ID: running.projectId, VIDEO_ID: running.predictionId }),
    deletePrediction: async () => {
      const take = await keyframe.waitFor(await keyframe.generate("first-frame", { projectId: await project() }));
      return { PROJECT_ID: take.projectId, FIRST_FRAME_ID: take.predictionId };
    },
    deleteProject: async () => ({ PROJECT_ID: await project() }),
    deleteFilm: async () => ({ FILM_ID: (await keyframe.films.create({ title: "Doomed" })).filmId }),
    deleteElement: async () => ({ ELEMENT_ID: (await keyframe.elements.create({ name: "Doomed" })).elementId }),
    revokeShare: async () => {
      const { filmId } = await keyframe.films.create({ title: "Doomed" });
      return { FILM_ID: filmId, SHARE_ID: (await keyframe.films.share(filmId)).shareId };
    },
    revokeKey: async () => ({ KEY_ID: (await keyframe.keys.create({ name: "Doomed", may: "read" })).keyId }),
    deleteWebhook: async () => {
      const made = await keyframe.webhooks.create({ url: receiver.url, eventTypes: ["generation.failed"] });
      return { WEBHOOK_ID: made.webhookId };
    },
  };
  return words;
};

test("every example of the API reference, pasted into a shell or called with the client → success", async () => {
  const { session, keyframe, own, running } = await filmMaker();
  const userId = (await newPerson()).session.user.id; // who has credit starts nothing without a balance
  const server = createKeyframeClient({ url, secretKey, userId });
  const words = doomed(keyframe, running);
  const ownWords: Record<string, string | undefined> = Object.fromEntries(
    Object.entries(own).map(([name, one]) => [wordOf(name), one]),
  );
  const failed: string[] = [];
  let pasted = 0;
  for (const { id, method, template, described } of places) {
    const operation = followReferences(openApi, described) as Place["operation"];
    const place: Place = { method: method.toLowerCase(), address: `${url}/functions/v1${template}`, operation };
    for (const example of described["x-examples"] as Example[]) {
      const ids = { ...ownWords, ...(await words[id]?.()) };
      const fillIn = (text: string) => text.replaceAll(/\b[A-Z]+(_[A-Z]+)+\b/g, (word) => ids[word] ?? word);
      const command = fillIn(commandOf(place, example as Parameters<typeof commandOf>[1]));
      const { status, answer } = await paste(command, session.access_token, userId);
      pasted += 1;
      if (status < 200 || status >= 300) failed.push(`${command}\n${status} ${answer}`);
      if (id === "createWebhook") await keyframe.webhooks.delete(JSON.parse(answer).data.webhookId);
      const call = callOf(place, example as Parameters<typeof callOf>[1]);
      // A method of the client; what takes something away is not called a second time.
      if (call !== null && !(id in words))
        await make(fillIn(call), id === "addCredit" ? server : keyframe).catch((error) =>
          failed.push(`${call} ${error}`),
        );
      else if (call !== null) {
        const [, name = ""] = /^await keyframe\.([\w.]+)\(/.exec(call) ?? [];
        const found = name.split(".").reduce<unknown>((part, one) => Object(part)[one], keyframe);
        if (typeof found !== "function") failed.push(call);
      }
      if (id === "changeWebhook") await keyframe.webhooks.change(own.webhookId, { enabled: true });
    }
  }
  expect(failed).toEqual([]);
  expect(pasted).toBeGreaterThan(places.length);
});
