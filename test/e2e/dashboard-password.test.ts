import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { visitDashboard } from "../support/dashboard/browser.ts";
import { fillCredentials, newPerson } from "../support/dashboard/person.ts";

const visit = visitDashboard();
const NEW_PASSWORD = "a new and long enough password";
const USED = "This link has expired or was already used.";

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

/** From the sign-in page to the letter box, as a person would go. */
async function askForLink(page: Page, email: string): Promise<void> {
  await page.goto("/");
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await heading(page, "Reset your password");
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Send reset link" }).click();
  await heading(page, "Check your email");
  await page.getByRole("link", { name: /\/mail$/ }).click();
  await heading(page, "Mail");
}

const linkFor = (page: Page, email: string) =>
  page.getByRole("article").filter({ hasText: email }).first().getByRole("link");

test("a forgotten password → the mail's link → a new one, once; an unknown address → the same words, and no mail", async () => {
  const person = await newPerson();
  const { page } = await visit();
  const nobody = `nobody-${crypto.randomUUID()}@keyframe.local`;
  await askForLink(page, nobody);
  expect(await page.getByText(nobody).count()).toBe(0);
  await askForLink(page, person.email);
  const link = (await linkFor(page, person.email).getAttribute("href")) ?? "";
  await linkFor(page, person.email).click();
  await heading(page, "Set a new password");
  expect(page.url()).not.toContain("access_token");
  await page.getByText(`For ${person.email}`).waitFor();
  // There is no way around it: other pages lead here until it is done.
  await page.goto("/#/webhooks");
  await heading(page, "Set a new password");
  await page.getByLabel("New password", { exact: true }).fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Password changed.").waitFor();
  await heading(page, "Projects");

  const { page: later, watch } = await visit();
  watch.allow(/status of 400/);
  await later.goto(link);
  await later.getByText(USED).waitFor();
  await heading(later, "Sign in");
  expect(later.url()).not.toContain("error");
  await fillCredentials(later, person);
  await later.getByRole("alert").waitFor();
  await fillCredentials(later, { ...person, password: NEW_PASSWORD });
  await heading(later, "Projects");
  // A signed-in user gets the message, and stays on their page.
  await later.goto("about:blank");
  await later.goto("/#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid");
  await later.getByText(USED).waitFor();
  await heading(later, "Projects");
});
