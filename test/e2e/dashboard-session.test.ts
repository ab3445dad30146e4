import type { Page, Route } from "playwright-core";
import { expect, inject, test } from "vitest";
import { createKeyframeClient, type KeyframeError } from "../../client/index.ts";
import { openDatabase } from "../support/api/database.ts";
import { expectGoodLooks, sessionKey, untilHeading, visitDashboard } from "../support/dashboard/browser.ts";
import { choose, signOut } from "../support/dashboard/film.ts";
import { fillCredentials, newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
const { url, demoUser } = inject("stack");
const AUTH = "**/auth/v1/**";
const API = "**/functions/v1/api/**";
const PAST = Math.floor(Date.now() / 1000) - 3_600;

const newAddress = () => `new-${crypto.randomUUID()}@keyframe.local`;

/** Lets the page's own clock run, a second at a time, until it says this: Auth is asked again for half a minute. */
const passTimeUntil = (page: Page, text: string) =>
  until(text, async () => {
    await page.clock.runFor(1_000);
    return await page.getByText(text).isVisible();
  });

const refuse = (route: Route) => {
  const error = { code: "unauthorized", message: "Sign in.", requestId: "r" };
  return route.fulfill({ status: 401, json: { success: false, data: null, error } });
};

test("a wrong password, or Auth is away → an error in words, and the email stays; right password, Auth back → signed in", async () => {
  const person = await newPerson();
  const { page } = await visit({ allow: /status of 400|Failed to load resource/, at: "/" });
  await fillCredentials(page, { email: person.email, password: "not this one" });
  await page.getByRole("alert").getByText("Wrong email or password.").waitFor();
  expect(await page.getByLabel("Email").inputValue()).toBe(person.email);
  await page.route(AUTH, (route) => route.abort());
  await fillCredentials(page, person);
  await page.getByRole("alert").getByText("Cannot reach the service.").waitFor();
  await page.unroute(AUTH);
  await fillCredentials(page, person);
  await untilHeading(page, "Projects");
});

test("invalid sign-in fields → each says why, the first has the focus, nothing is sent; password managers recognise them", async () => {
  const { page } = await visit();
  const sent: string[] = [];
  page.on("request", (request) => void (request.url().includes("/auth/v1/") && sent.push(request.url())));
  const email = page.getByLabel("Email");
  const password = page.getByLabel("Password", { exact: true });
  const kinds = async () => [await email.getAttribute("autocomplete"), await password.getAttribute("autocomplete")];
  await page.goto("/#/sign-in");
  expect(await kinds()).toEqual(["username", "current-password"]);
  await page.goto("/#/sign-up");
  await untilHeading(page, "Create an account");
  expect(await kinds()).toEqual(["username", "new-password"]);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Enter an email address.").waitFor();
  await page.getByText("Use at least 6 characters.").waitFor();
  expect(await email.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await email.getAttribute("aria-invalid")).toBe("true");
  await email.fill(newAddress());
  await page.getByRole("button", { name: "Create account" }).click();
  expect(await password.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(sent).toEqual([]);
});

test("one click → signed in as demo user, whose menu names the installed version; no button where config.json has no user", async () => {
  const { page } = await visit({ at: "/" });
  await page.getByRole("button", { name: "Continue as demo user" }).click();
  await untilHeading(page, "Projects");
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByText(demoUser.email).waitFor();
  const [installed] = await openDatabase()`select version from keyframe_private.installation`;
  await page.getByRole("menu").getByText(`Keyframe ${installed?.version}`).waitFor();

  const { page: hosted } = await visit();
  const { publishableKey } = inject("stack");
  await hosted.route("**/config.json", (route) => route.fulfill({ json: { supabaseUrl: url, publishableKey } }));
  await hosted.goto("/");
  await untilHeading(hosted, "Sign in");
  expect(await hosted.getByText("demo user").count()).toBe(0);
});

test("signing out → of every tab, and makes a pending deletion; the next user starts at the projects and sees only their own", async () => {
  const { session, keyframe } = await newPerson();
  await keyframe.projects.create({ title: "Of the first", textPrompt: "A harbour at dawn" });
  await keyframe.projects.create({ title: "Too many", textPrompt: "A harbour at dawn" });
  const next = await newPerson();
  const { page, newTab } = await visit({ session, allow: /Failed to load resource/, at: "/" });
  await page.getByText("Of the first").waitFor();
  await page.goto("/#/webhooks");
  await untilHeading(page, "Webhooks");
  const other = await newTab();
  await other.goto("/#/keys");
  await untilHeading(other, "Keys");
  await page.goto("/#/projects");
  await choose(page, "Actions for Too many", "Delete");
  await page.getByRole("button", { name: "Delete project" }).press("Enter");
  const undo = page.getByRole("button", { name: "Undo: delete Too many" });
  await undo.waitFor();
  await page.goto("/#/webhooks");
  await signOut(page);
  await untilHeading(page, "Sign in");
  await untilHeading(other, "Sign in");
  await undo.waitFor({ state: "detached", timeout: 5_000 });
  await until("it is deleted", async () => (await keyframe.projects.list()).projects.length === 1, 5_000);
  expect(await page.getByText("Your session has expired").count()).toBe(0);
  expect(await page.evaluate((key) => localStorage.getItem(key), sessionKey(url))).toBeNull();
  // Nothing can be read for a moment: whatever shows now was kept from before.
  await page.route(API, (route) => route.abort());
  await fillCredentials(page, next);
  await page.getByText("Cannot reach the service.").waitFor();
  expect(await page.getByText("Of the first").count()).toBe(0);
  await page.unroute(API);
  await page.getByText("No projects yet").waitFor();
  expect(new URL(page.url()).hash).toBe("#/projects");
  await untilHeading(other, "Keys"); // the other tab goes on where it was
});

test("a session cannot be refreshed, or is refused while a page is open → says so, and returns there after sign-in", async () => {
  const person = await newPerson();
  const session = { ...person.session, expires_at: PAST, refresh_token: "revoked" };
  const { page } = await visit({ session, allow: /status of 40[01]/, at: "/#/webhooks" });
  await page.getByText("Your session has expired.").waitFor();
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.getByRole("link", { name: "Already have an account? Sign in" }).click();
  await fillCredentials(page, person);
  await untilHeading(page, "Webhooks");
  await page.route(API, refuse);
  await page.getByRole("banner").getByRole("link", { name: "Projects", exact: true }).click();
  await page.getByText("Your session has expired.").waitFor();
  await page.unroute(API);
  await fillCredentials(page, person);
  await untilHeading(page, "Projects");
});

test("a session ends or the page reloads while texts are typed → they are restored; after a sign-out they are not", async () => {
  const person = await newPerson();
  const { projectId } = await person.keyframe.projects.create({ title: "Harbour", textPrompt: "A harbour" });
  const { page } = await visit({ session: person.session, allow: /status of 401/ });
  const create = async () => {
    await page.getByRole("button", { name: "New project" }).first().click();
    return page.getByRole("dialog", { name: "New project" });
  };
  const project = page.getByLabel("Prompt", { exact: true });
  const step = page.getByLabel("Prompt for this step").first();
  const typed = async () => {
    await page.goto("/#/projects");
    const titled = await (await create()).getByLabel("Title").inputValue();
    await page.goto(`/#/projects/${projectId}`);
    await page
      .getByRole("button", { name: /^Settings/ })
      .first()
      .click();
    return [titled, await project.inputValue(), await step.inputValue()];
  };
  await page.goto("/#/projects");
  await (await create()).getByLabel("Title").fill("New");
  await page.keyboard.press("Escape");
  await page.goto(`/#/projects/${projectId}`);
  await project.fill("Unsaved");
  await page.getByRole("button", { name: "Settings" }).first().click();
  await step.fill("For this step");
  await page.reload();
  expect(await typed()).toEqual(["New", "Unsaved", "For this step"]);

  // A read that is refused would open the sign-in before Save is pressed.
  await page.route(API, (route) => (route.request().method() === "PATCH" ? refuse(route) : route.fallback()));
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Your session has expired.").waitFor();
  await page.unroute(API);
  await fillCredentials(page, person);
  await untilHeading(page, "Harbour");
  expect(await typed()).toEqual(["New", "Unsaved", "For this step"]);

  await step.fill("Just before");
  await signOut(page);
  await untilHeading(page, "Sign in");
  expect((await person.keyframe.projects.read(projectId)).plan["first-frame"]?.prompt).toBe("Just before");
  const kept = () =>
    page.evaluate(() =>
      Object.entries(localStorage)
        .flatMap(([key, text]) => (/draft/.test(key) ? [text] : []))
        .join(),
    );
  expect(await kept()).toBe("");

  await fillCredentials(page, person);
  await (await create()).getByLabel("Title").fill("Of the first user");
  await page.route(API, refuse);
  await page.reload();
  await page.getByText("Your session has expired.").waitFor();
  expect(await kept()).toContain("Of the first user");
  await page.unroute(API);
  await fillCredentials(page, await newPerson());
  await page.getByText("No projects yet").waitFor();
  expect(await kept()).not.toContain("Of the first user");
});

const lessStorage: [string, () => void][] = [
  [
    "stores no drafts",
    () => {
      const store = Storage.prototype.setItem;
      Storage.prototype.setItem = function (key, value) {
        if (key.includes("draft")) throw new DOMException("It is full.", "QuotaExceededError");
        store.call(this, key, value);
      };
    },
  ],
  [
    "lets the page store nothing",
    () => {
      const get = () => {
        throw new DOMException("Access is denied.", "SecurityError");
      };
      Object.defineProperty(window, "localStorage", { get });
    },
  ],
];
test.each(lessStorage)(
  "the browser %s → signed in, and text typed into one field stays when the next one is typed",
  async (_, limit) => {
    const person = await newPerson();
    const { page } = await visit({ allow: /localStorage is blocked/ });
    await page.addInitScript(limit);
    await page.goto("/");
    await fillCredentials(page, person);
    await untilHeading(page, "Projects");
    await page.getByRole("button", { name: "New project" }).first().click();
    const form = page.getByRole("dialog", { name: "New project" });
    await form.getByLabel("Title").fill("Harbour");
    await form.getByLabel("Prompt").fill("A harbour");
    expect(await form.getByLabel("Title").inputValue()).toBe("Harbour");
  },
);

test("Auth is away when a token expires → a banner, “You stay signed in”; Auth is back → goes on silently", async () => {
  const { session } = await newPerson();
  const { page } = await visit({ session, allow: /Failed to load resource|Failed to fetch/ });
  await page.clock.install();
  await page.goto("/#/projects");
  await untilHeading(page, "Projects");
  await page.route(AUTH, (route) => route.abort());
  await page.evaluate(
    ([key, kept]) => localStorage.setItem(key ?? "", kept ?? ""),
    [sessionKey(url), JSON.stringify({ ...session, expires_at: PAST })],
  );
  await page.getByRole("banner").getByRole("link", { name: "Webhooks" }).click();
  await passTimeUntil(page, "Cannot reach the service.");
  await page.reload();
  await passTimeUntil(page, "You stay signed in");
  expect(await page.evaluate((key) => localStorage.getItem(key) !== null, sessionKey(url))).toBe(true);
  await page.unroute(AUTH);
  await page.reload();
  await page.getByText("No endpoints yet").waitFor();
});

test("a Supabase project that asks for confirmed addresses → “check your email”, which can be sent again", async () => {
  const { page } = await visit();
  const email = newAddress();
  const asked: string[] = [];
  // As the hosted Auth answers: a user, and no session.
  const user = { id: crypto.randomUUID(), aud: "authenticated", email, confirmation_sent_at: new Date().toISOString() };
  await page.route("**/auth/v1/signup*", (route) => route.fulfill({ json: user }));
  await page.route("**/auth/v1/resend*", (route) => {
    asked.push(route.request().postData() ?? "");
    return route.fulfill({ json: {} });
  });
  await page.goto("/#/sign-up");
  await fillCredentials(page, { email, password: "a long enough password" }, "Create account");
  await untilHeading(page, "Check your email");
  await page.getByText(email).waitFor();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Check your email");
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("Email sent again.").waitFor();
  expect(asked.map((body) => JSON.parse(body))).toMatchObject([{ type: "signup", email }]);
});

const NEW_PASSWORD = "a new and long enough password";
const USED = "This link has expired or was already used.";

/** From the sign-in page to the letter box, as a person would go. */
async function askForLink(page: Page, email: string): Promise<void> {
  await page.goto("/");
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await untilHeading(page, "Reset your password");
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Send reset link" }).click();
  await untilHeading(page, "Check your email");
  await page.getByRole("link", { name: /\/mail$/ }).click();
  await untilHeading(page, "Mail");
}

const linkFor = (page: Page, email: string) =>
  page.getByRole("article").filter({ hasText: email }).first().getByRole("link");

test("a forgotten password → the email's link sets a new one, once; an unknown address → the same words, and no email", async () => {
  const person = await newPerson();
  const { page } = await visit();
  const nobody = `nobody-${crypto.randomUUID()}@keyframe.local`;
  await askForLink(page, nobody);
  expect(await page.getByText(nobody).count()).toBe(0);
  await askForLink(page, person.email);
  const link = (await linkFor(page, person.email).getAttribute("href")) ?? "";
  await linkFor(page, person.email).click();
  await untilHeading(page, "Set a new password");
  expect(page.url()).not.toContain("access_token");
  await page.getByText(`For ${person.email}`).waitFor();
  // There is no way around it: other pages lead here until it is done.
  await page.goto("/#/webhooks");
  await untilHeading(page, "Set a new password");
  await page.getByLabel("New password", { exact: true }).fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Password changed.").waitFor();
  await untilHeading(page, "Projects");

  const { page: later } = await visit({ allow: /status of 400/, at: link });
  await later.getByText(USED).waitFor();
  await untilHeading(later, "Sign in");
  expect(later.url()).not.toContain("error");
  await fillCredentials(later, person);
  await later.getByRole("alert").waitFor();
  await fillCredentials(later, { ...person, password: NEW_PASSWORD });
  await untilHeading(later, "Projects");
  // A signed-in user gets the message, and stays on their page.
  await later.goto("about:blank");
  await later.goto("/#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid");
  await later.getByText(USED).waitFor();
  await untilHeading(later, "Projects");
});

test("a key is created by keyboard → shown once, with lines for each program; works until it is revoked on a phone", async () => {
  const person = await newPerson();
  const { page } = await visit({ session: person.session, at: "/#/keys" });
  await page.getByText("No keys yet").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "New key" }).press("Enter");
  const window = page.getByRole("dialog");
  await window.getByRole("heading", { name: "New key" }).waitFor();
  await page.keyboard.press("Enter"); // without a name
  await window.getByText("Enter a name.").waitFor();
  await page.keyboard.type("Claude Code");
  await expectGoodLooks(page);
  await window.getByLabel("Generate", { exact: true }).press("ArrowUp");
  expect(await window.getByLabel("Daily spending limit").count()).toBe(0); // to read costs nothing
  await page.keyboard.press("ArrowDown");
  await window.getByLabel("Daily spending limit").fill("2.50");
  await window.getByLabel("Key expires").selectOption({ label: "After 90 days" });
  await window.getByRole("button", { name: "Create key" }).press("Enter");
  await window.getByText("Copy the key of “Claude Code” now").waitFor();
  const key = (await window.locator("pre").first().textContent()) ?? "";
  expect(key).toMatch(/^kf_[0-9a-f]{72}$/);
  const mcp = `${url}/functions/v1/keyframe-mcp`;
  const readKey = "read -rs KEYFRAME_KEY"; // so that the shell's history does not have it
  for (const [program, line] of [
    [
      "Claude Code",
      `${readKey} && claude mcp add --transport http keyframe ${mcp} --header "Authorization: Bearer $KEYFRAME_KEY"`,
    ],
    ["Cursor", `"Authorization": "Bearer ${key}"`],
    ["VS Code", `"type": "http"`],
    ["Codex", `codex mcp add keyframe --url ${mcp} --bearer-token-env-var KEYFRAME_KEY`],
    ["curl", `${readKey} && curl ${url}/functions/v1/api/projects -H "Authorization: Bearer $KEYFRAME_KEY"`],
  ] as const) {
    await window.getByLabel("Use it in").selectOption(program);
    await window.getByRole("button", { name: `Copy lines for ${program}` }).waitFor();
    expect(await window.locator("pre").last().textContent()).toContain(line);
  }
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  await window.waitFor({ state: "detached" });
  expect(await page.locator("body").textContent()).not.toContain(key.slice(0, 40));

  const script = createKeyframeClient({ url, userKey: key, retries: 0 });
  const { projectId } = await script.projects.create({ title: "Harbour", textPrompt: "A harbour" });
  await expect(script.projects.delete(projectId)).rejects.toMatchObject({ code: "client_not_allowed" });
  await expect(script.keys.list()).rejects.toMatchObject({ code: "client_not_allowed" });

  const { page: phone } = await visit({ session: person.session, isPhone: true, at: "/#/projects" });
  await phone.getByRole("button", { name: "Open navigation" }).tap();
  await phone.getByRole("link", { name: "Keys" }).tap();
  const card = phone.getByRole("listitem").filter({ hasText: "Claude Code" });
  await card.getByText(/^At most \$2\.50 a day\. Created .*, expires in .*, last used /).waitFor();
  await card.getByText(`${key.slice(0, 19)}…`).waitFor();
  await phone.getByText("docs/agents.md").waitFor();
  await expectGoodLooks(phone);
  await card.getByRole("button", { name: "Revoke" }).tap();
  await phone.getByRole("dialog").getByText("Requests with “Claude Code” will be refused.").waitFor();
  await expectGoodLooks(phone);
  await phone.getByRole("button", { name: "Revoke key" }).tap();
  await card.getByText("Expired", { exact: true }).waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  const refused = await script.projects.list().catch((error: KeyframeError) => error.code);
  expect(refused).toBe("key_ended");
});
