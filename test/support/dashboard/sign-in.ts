import type { Page } from "playwright-core";

/** Fills in a sign-in or sign-up form and sends it. */
export async function fillCredentials(
  page: Page,
  { email, password }: { email: string; password: string },
  button: "Sign in" | "Create account" = "Sign in",
): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: button, exact: true }).click();
}
