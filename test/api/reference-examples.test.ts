import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../client/index.ts";
import { callOf, commandOf, followReferences, type Place, wordOf } from "../../site/api-document.ts";
import { openDatabase } from "../support/api/database.ts";
import { drawImage } from "../support/media/images.ts";
import { type Example, openApi, places } from "../support/openapi/document.ts";
import { prepareScene, type Real, type Scene } from "../support/openapi/scene.ts";

// What the API reference of the site shows: each example is run, with an id in place of each word in capitals.

const { url, publishableKey, secretKey } = inject("stack");
const sql = openDatabase();
let scene: Scene;
let folder: string;
beforeAll(async () => {
  scene = await prepareScene(sql);
  folder = await Deno.makeTempDir({ prefix: "keyframe-curl-" });
  await Deno.writeFile(`${folder}/image.png`, await drawImage());
});
afterAll(async () => {
  await scene?.receiver.close();
  await Deno.remove(folder, { recursive: true });
});

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

/** The words that stand for ids in examples → the ids. */
const wordsFor = (real: Real) => Object.fromEntries(Object.entries(real).map(([name, id]) => [wordOf(name), id]));

test("every example of the API reference, pasted into a shell or called with the client → success", async () => {
  const { user, newcomer, real } = scene;
  const doomed: Record<string, (() => Promise<Real>) | undefined> = scene.doomed;
  const keyframe = createKeyframeClient({ url, apikey: publishableKey, getToken: () => user.token });
  const userId = newcomer.id; // who has credit starts nothing without a balance
  const server = createKeyframeClient({ url, secretKey, userId });
  const failed: string[] = [];
  let pasted = 0;
  for (const { id, method, template, described } of places) {
    const operation = followReferences(openApi, described) as Place["operation"];
    const place: Place = { method: method.toLowerCase(), address: `${url}/functions/v1${template}`, operation };
    for (const example of described["x-examples"] as Example[]) {
      const ids = wordsFor({ ...real, ...(await doomed[id]?.()) });
      const fillIn = (text: string) => text.replaceAll(/\b[A-Z]+(_[A-Z]+)+\b/g, (word) => ids[word] ?? word);
      const command = fillIn(commandOf(place, example as Parameters<typeof commandOf>[1]));
      const { status, answer } = await paste(command, user.token, userId);
      pasted += 1;
      if (status < 200 || status >= 300) failed.push(`${command}\n${status} ${answer}`);
      if (id === "createWebhook") await keyframe.webhooks.delete(JSON.parse(answer).data.webhookId);
      const call = callOf(place, example as Parameters<typeof callOf>[1]);
      // A method of the client; what takes something away is not called a second time.
      if (call !== null && !(id in doomed))
        await make(fillIn(call), id === "addCredit" ? server : keyframe).catch((error) =>
          failed.push(`${call} ${error}`),
        );
      else if (call !== null) {
        const [, name = ""] = /^await keyframe\.([\w.]+)\(/.exec(call) ?? [];
        const found = name.split(".").reduce<unknown>((part, one) => Object(part)[one], keyframe);
        if (typeof found !== "function") failed.push(call);
      }
      if (id === "changeWebhook") await keyframe.webhooks.change(real.webhookId ?? "", { enabled: true });
    }
  }
  expect(failed).toEqual([]);
  expect(pasted).toBeGreaterThan(places.length);
});
