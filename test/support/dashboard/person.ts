import type { Page } from "playwright-core";
import { inject } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../../client/index.ts";
import { signUpAt } from "../api/sign-up.ts";

/** Somebody with an account, signed in outside of any browser. */
export type Person = Awaited<ReturnType<typeof signUpAt>> & { keyframe: KeyframeClient };

/** Signs a new user up. Their session can be given to a browser. */
export async function newPerson(): Promise<Person> {
  const { url, publishableKey } = inject("stack");
  const account = await signUpAt({ url, publishableKey });
  const getToken = () => account.session.access_token;
  return { ...account, keyframe: createKeyframeClient({ url, apikey: publishableKey, getToken }) };
}

/** Fills in a sign-in or sign-up form and sends it. */
export async function fillCredentials(
  page: Page,
  { email, password }: { email: string; password: string },
  button: "Sign in" | "Create account" = "Sign in",
): Promise<void> {
  const send = page.getByRole("button", { name: button, exact: true });
  await send.waitFor(); // of this form, not of the one that a link has just left
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await send.click();
}

/** What somebody has whose pages are looked at. */
export type Belongings = {
  projectId: string;
  emptyProjectId: string;
  /** Of both projects. */
  filmId: string;
  webhookId: string;
};

/** Gives somebody a film of three steps with two first frames, a project without any, and an endpoint with a delivery that failed. */
export async function furnish({ keyframe }: Person, receiverUrl: string): Promise<Belongings> {
  const webhook = await keyframe.webhooks.create({ url: receiverUrl, description: "The edit suite", eventTypes: [] });
  const texts = { textPrompt: "A harbour at dawn, fog, one red boat", description: "Calm" };
  const { projectId } = await keyframe.projects.create({ title: "Harbour", ...texts });
  const empty = await keyframe.projects.create({ title: "Nothing yet", ...texts });
  for (const step of ["first-frame", "first-frame", "last-frame", "video"] as const) {
    await keyframe.waitFor(await keyframe.generate(step, { projectId }));
  }
  const { elementId } = await keyframe.elements.create({ kind: "place", name: "The quay", text: "Granite steps" });
  const { filmId } = await keyframe.films.create({ title: "The pier", elementIds: [elementId] });
  await keyframe.films.change(filmId, { projectIds: [projectId, empty.projectId] });
  return { projectId, filmId, emptyProjectId: empty.projectId, webhookId: webhook.webhookId };
}
