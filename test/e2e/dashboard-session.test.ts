import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { sessionKey, visitDashboard } from "../support/dashboard/browser.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { fillCredentials } from "../support/dashboard/sign-in.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
const { url, demoUser } = inject("stack");

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
const newAddress = () => `new-${crypto.randomUUID()}@keyframe.local`;

/** Lets the page's own clock run, a second at a time, until it says this: Auth is asked again for half a minute. */
const passTimeUntil = (page: Page, text: string) =>
  until(text, async () => {
    await page.clock.runFor(1_000);
    return await page.getByText(text).isVisible();
  });

/** What a browser says of an answer that the page expects. */
const refusal = (status: number) => new RegExp(`status of ${status}`);

test("a new person signs up → the projects, also after a reload and in another tab", async () => {
  const { page, newTab } = await visit();
  await page.goto("/");
  await heading(page, "Sign in");
  await page.getByRole("link", { name: "Create an account" }).click();
  await heading(page, "Create an account");
  await fillCredentials(page, { email: newAddress(), password: "a long enough password" }, "Create account");
  await heading(page, "Projects");
  await page.reload();
  await heading(page, "Projects");
  const other = await newTab();
  await other.goto("/");
  await heading(other, "Projects");
});

test("an account that is there already → said in words, with what to do", async () => {
  const { email } = await newPerson();
  const { page, watch } = await visit();
  watch.allow(refusal(422));
  await page.goto("/#/sign-up");
  await fillCredentials(page, { email, password: "another password" }, "Create account");
  await page.getByRole("alert").getByText("An account with this email already exists.").waitFor();
});

test("a wrong password → said in words; the address stays; the right one goes in", async () => {
  const person = await newPerson();
  const { page, watch } = await visit();
  watch.allow(refusal(400));
  await page.goto("/");
  await fillCredentials(page, { email: person.email, password: "not this one" });
  await page.getByRole("alert").getByText("Wrong email or password.").waitFor();
  expect(await page.getByLabel("Email").inputValue()).toBe(person.email);
  await fillCredentials(page, person);
  await heading(page, "Projects");
});

test("invalid fields → each says why, the first of them has the focus, nothing is sent", async () => {
  const { page } = await visit();
  const sent: string[] = [];
  page.on("request", (request) => void (request.url().includes("/auth/v1/") && sent.push(request.url())));
  await page.goto("/#/sign-up");
  const email = page.getByLabel("Email");
  const password = page.getByLabel("Password", { exact: true });
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

test("fields → named for password managers", async () => {
  const { page } = await visit();
  const kinds = async () => [
    await page.getByLabel("Email").getAttribute("autocomplete"),
    await page.getByLabel("Password", { exact: true }).getAttribute("autocomplete"),
  ];
  await page.goto("/#/sign-in");
  expect(await kinds()).toEqual(["username", "current-password"]);
  await page.goto("/#/sign-up");
  await heading(page, "Create an account");
  expect(await kinds()).toEqual(["username", "new-password"]);
});

test("one click → in as the demo user; not where config.json names none", async () => {
  const { page } = await visit();
  await page.goto("/");
  await page.getByRole("button", { name: "Continue as demo user" }).click();
  await heading(page, "Projects");
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByText(demoUser.email).waitFor();

  const { page: hosted } = await visit();
  const { publishableKey } = inject("stack");
  await hosted.route("**/config.json", (route) => route.fulfill({ json: { supabaseUrl: url, publishableKey } }));
  await hosted.goto("/");
  await heading(hosted, "Sign in");
  expect(await hosted.getByText("demo user").count()).toBe(0);
});

test("signing out → every tab is out; the next user starts at the projects and sees only their own", async () => {
  const { session, keyframe } = await newPerson();
  await keyframe.createProject({ title: "Of the first", textPrompt: "A harbour at dawn" });
  const next = await newPerson();
  const { page, newTab, watch } = await visit({ session });
  watch.allow(/Failed to load resource/);
  await page.goto("/");
  await page.getByText("Of the first").waitFor();
  await page.goto("/#/webhooks");
  await heading(page, "Webhooks");
  const other = await newTab();
  await other.goto("/#/docs");
  await heading(other, "Docs");
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await heading(page, "Sign in");
  await heading(other, "Sign in");
  expect(await page.getByText("Your session has expired").count()).toBe(0);
  expect(await page.evaluate((key) => localStorage.getItem(key), sessionKey(url))).toBeNull();
  // Nothing can be read for a moment: whatever shows now was kept from before.
  await page.route("**/functions/v1/api/**", (route) => route.abort());
  await fillCredentials(page, next);
  await page.getByText("Cannot reach the service.").waitFor();
  expect(await page.getByText("Of the first").count()).toBe(0);
  await page.unroute("**/functions/v1/api/**");
  await page.getByText("No projects yet").waitFor();
  expect(new URL(page.url()).hash).toBe("#/projects");
  await heading(other, "Docs"); // the other tab goes on where it was
});

test("an address inside, signed out → sign-in first, then back to it", async () => {
  const person = await newPerson();
  const { page } = await visit();
  await page.goto("/#/webhooks");
  await heading(page, "Sign in");
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.getByRole("link", { name: "Already have an account? Sign in" }).click();
  await heading(page, "Sign in");
  await fillCredentials(page, person);
  await heading(page, "Webhooks");
});

test.each(["https://evil.example/", "//evil.example", "/\\evil.example"])(
  "a way back that leads elsewhere (%s) → not followed",
  async (back) => {
    const { session } = await newPerson();
    const { page } = await visit({ session });
    await page.goto(`/#/sign-in?${new URLSearchParams({ back })}`);
    await heading(page, "Projects");
  },
);

test("a kept session that cannot be refreshed → told, and back to the page after sign-in", async () => {
  const person = await newPerson();
  const past = Math.floor(Date.now() / 1000) - 3_600;
  const session = { ...person.session, expires_at: past, refresh_token: "revoked" };
  const { page, watch } = await visit({ session });
  watch.allow(refusal(400));
  await page.goto("/#/webhooks");
  await page.getByText("Your session has expired.").waitFor();
  await fillCredentials(page, person);
  await heading(page, "Webhooks");
});

test("a kept session whose token ran out → refreshed without a word", async () => {
  const { session } = await newPerson();
  const past = Math.floor(Date.now() / 1000) - 3_600;
  const { page } = await visit({ session: { ...session, expires_at: past } });
  await page.goto("/#/webhooks");
  await heading(page, "Webhooks");
});

test("a kept session whose token ran out while Auth is away → kept, and said; taken up when Auth is back", async () => {
  const { session } = await newPerson();
  const past = Math.floor(Date.now() / 1000) - 3_600;
  const { page, watch } = await visit({ session: { ...session, expires_at: past } });
  watch.allow(/Failed to load resource|Failed to fetch/);
  await page.route("**/auth/v1/**", (route) => route.abort());
  await page.clock.install();
  await page.goto("/#/webhooks");
  await passTimeUntil(page, "You stay signed in");
  await page.unroute("**/auth/v1/**");
  await page.reload();
  await heading(page, "Webhooks");
});

test("a token that runs out on a page while Auth is away → a banner, not signed out; it goes on when Auth is back", async () => {
  const { session } = await newPerson();
  const { page, watch } = await visit({ session });
  watch.allow(/Failed to load resource|Failed to fetch/);
  await page.clock.install();
  await page.goto("/#/projects");
  await heading(page, "Projects");
  await page.route("**/auth/v1/**", (route) => route.abort());
  const past = Math.floor(Date.now() / 1000) - 3_600;
  await page.evaluate(
    ([key, kept]) => localStorage.setItem(key ?? "", kept ?? ""),
    [sessionKey(url), JSON.stringify({ ...session, expires_at: past })],
  );
  await page.getByRole("banner").getByRole("link", { name: "Webhooks" }).click();
  await passTimeUntil(page, "Cannot reach the service.");
  expect(await page.evaluate((key) => localStorage.getItem(key) !== null, sessionKey(url))).toBe(true);
  await page.unroute("**/auth/v1/**");
  await page.reload();
  await page.getByText("No endpoints yet").waitFor();
});

test("a session that the service refuses while a page is open → told, and back to the page after sign-in", async () => {
  const person = await newPerson();
  const { page, watch } = await visit({ session: person.session });
  watch.allow(refusal(401));
  await page.goto("/#/projects");
  await heading(page, "Projects");
  const body = { success: false, data: null, error: { code: "unauthorized", message: "Sign in.", requestId: "r" } };
  await page.route("**/functions/v1/api/**", (route) => route.fulfill({ status: 401, json: body }));
  await page.getByRole("banner").getByRole("link", { name: "Webhooks" }).click();
  await page.getByText("Your session has expired.").waitFor();
  await page.unroute("**/functions/v1/api/**");
  await fillCredentials(page, person);
  await heading(page, "Webhooks");
});

test("Auth is away at a sign-in → a message, and it works when Auth is back", async () => {
  const person = await newPerson();
  const { page, watch } = await visit();
  watch.allow(/Failed to load resource/);
  await page.goto("/");
  await page.route("**/auth/v1/**", (route) => route.abort());
  await fillCredentials(page, person);
  await page.getByRole("alert").getByText("Cannot reach the service.").waitFor();
  await page.unroute("**/auth/v1/**");
  await fillCredentials(page, person);
  await heading(page, "Projects");
});

test("a project that asks for confirmed addresses → check your email, and send it again", async () => {
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
  await heading(page, "Check your email");
  await page.getByText(email).waitFor();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Check your email");
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("Email sent again.").waitFor();
  expect(asked.map((body) => JSON.parse(body))).toMatchObject([{ type: "signup", email }]);
});
