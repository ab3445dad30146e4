import { afterAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { PROJECT_ROOT as ROOT } from "../../local/stack/project-root.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { bundle } from "../support/client/bundle.ts";
import { openApp } from "../support/client/open-app.ts";
import { expectNoFindings } from "../support/dashboard/browser.ts";
import { newPerson } from "../support/dashboard/person.ts";

const { url, publishableKey } = inject("stack");
const undo: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const one of undo.reverse()) await one();
});

/** The parts of https://ui.shadcn.com/schema/registry.json and registry-item.json that are used. */
const registry = z.strictObject({
  $schema: z.literal("https://ui.shadcn.com/schema/registry.json"),
  name: z.string(),
  homepage: z.string(),
  items: z.array(
    z.strictObject({
      name: z.string().regex(/^[a-z-]+$/),
      type: z.literal("registry:component"),
      title: z.string(),
      description: z.string(),
      dependencies: z.array(z.string()),
      files: z.array(z.strictObject({ path: z.string(), type: z.literal("registry:component") })).length(1),
    }),
  ),
});

test("registry.json → the item in docs/react.md, with a file that imports its dependencies, React and nothing else", async () => {
  const { items } = registry.parse(JSON.parse(await Deno.readTextFile(`${ROOT}registry.json`)));
  expect(items).toHaveLength(1);
  for (const { name, dependencies, files } of items) {
    const text = await Deno.readTextFile(ROOT + files[0]?.path);
    const imported = [...text.matchAll(/from "([^"/]+)/g)].map(([, from]) => from);
    expect([...new Set(imported)].sort()).toEqual([...dependencies, "react"].sort());
    const guide = await Deno.readTextFile(`${ROOT}docs/react.md`);
    expect(guide).toMatch(new RegExp(`^npx shadcn@latest add "[^ ]+/keyframe/${name}"$`, "m"));
  }
});

test("takes are started and selected with the arrow keys → kept after a reload; outdated, canceled, refused: all shown", async () => {
  const { keyframe, session } = await newPerson();
  const { projectId } = await keyframe.projects.create({ title: "Harbour", textPrompt: uniquePrompt() });
  await keyframe.waitFor(await keyframe.generate("first-frame", { projectId }));
  const client = { url, apikey: publishableKey };
  const text = `
    import { createKeyframeClient } from "keyframe-client";
    import { KeyframeProvider } from "keyframe-client/react";
    import { StrictMode } from "react";
    import { createRoot } from "react-dom/client";
    import { TakePicker } from "${ROOT}examples/take-picker/take-picker.tsx";

    const client = createKeyframeClient({ ...${JSON.stringify(client)}, getToken: () => "${session.access_token}" });
    createRoot(document.querySelector("main")).render(
      <StrictMode>
        <h1>Harbour</h1>
        <KeyframeProvider client={client}>
          <TakePicker projectId="${projectId}" step="video" body={{ durationSeconds: 3 }} />
        </KeyframeProvider>
      </StrictMode>,
    );`;
  const { page, close } = await openApp(await bundle("examples/take-picker/page.tsx", { react: 19, text }));
  undo.push(close);
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  const button = (name: RegExp) => page.getByRole("button", { name }).first();
  const takes = page.getByRole("group", { name: "Video: takes" }).getByRole("radio");
  const checked = () => takes.evaluateAll((all) => all.map((one) => one instanceof HTMLInputElement && one.checked));
  const hasFiles = () => page.locator("video").evaluateAll((all: HTMLVideoElement[]) => all.map((one) => one.duration));
  const listed = async () => (await keyframe.predictions.list(projectId, { step: "video" })).predictions;

  const clicked = Promise.withResolvers<void>();
  await page.route("**/generate/video", (route) => clicked.promise.then(() => route.continue()), { times: 1 });
  await button(/^Start another take/).dblclick();
  clicked.resolve();
  await expect.poll(checked).toEqual([true]);
  expect((await listed()).map(({ input }) => input.durationSeconds)).toEqual([3]);
  await button(/^Start another take/).click();
  await expect.poll(checked).toEqual([true, false]); // the latest, until one is selected
  await expect.poll(hasFiles).toEqual([3, 3].map((seconds) => expect.closeTo(seconds, 0)));
  await expectNoFindings(page);

  const saved: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  await page.route("**/api/projects/*", async (route) => {
    if (route.request().method() === "PATCH") {
      saved.push(route.request().postDataJSON().selected.video);
      await gate.promise;
    }
    await route.continue();
  });
  await takes.first().focus();
  for (const key of ["ArrowDown", "ArrowUp", "ArrowDown"]) await page.keyboard.press(key);
  expect(await checked()).toEqual([false, true]);
  gate.resolve();
  const older = (await listed())[1]?.predictionId;
  await expect.poll(async () => (await keyframe.projects.read(projectId)).selected.video).toBe(older);
  await expect.poll(() => saved).toEqual([older, older]); // one at a time, without what was between them
  expect(await checked()).toEqual([false, true]);
  await page
    .getByText(/^\$0\.\d+$/)
    .nth(1)
    .waitFor();

  await keyframe.waitFor(await keyframe.generate("first-frame", { projectId }));
  await keyframe.generate("video", { projectId, prompt: uniquePrompt("[[fault:output_slow=60000]]") });
  await page.reload();
  await expect.poll(checked).toEqual([false, true]);
  expect(await page.getByText("Outdated").count()).toBe(2);
  await page.getByRole("progressbar").waitFor();
  await expectNoFindings(page);
  await button(/^Cancel/).click();
  await page.getByText("Canceled").waitFor();
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("FIELDSET"); // its button is gone

  await takes
    .nth(1)
    .locator("xpath=../..")
    .getByRole("button", { name: /^Delete/ })
    .click();
  await button(/^Delete for good/).click();
  await expect.poll(checked).toEqual([true]);
  await button(/^Hide/).click(); // the canceled run
  await expect.poll(() => page.getByText("Canceled").count()).toBe(0);
  await openDatabase()`
    insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${session.user.id}, 1)`;
  await button(/^Start another take/).click();
  await page
    .getByRole("alert")
    .getByText(/budget/)
    .waitFor();
  expect(faults).toEqual([]);
});
