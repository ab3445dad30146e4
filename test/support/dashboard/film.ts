import { Buffer } from "node:buffer";
import type { Locator, Page } from "playwright-core";
import { drawReferencePhoto } from "../../../local/simulator/draw/picture.ts";

/** An image as a person's file chooser would hand it over. */
export function photoFile(seed: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name: "harbour.png", mimeType: "image/png", buffer: Buffer.from(drawReferencePhoto(seed)) };
}

/** The card of a step in the studio. */
export const stepCard = (page: Page, name: "First frame" | "Video" | "Last frame") =>
  page.getByRole("article", { name, exact: true });

/** A take on the contact sheet of a history, from the newest. */
export const takeAt = (history: Locator, at: number) =>
  history.getByRole("list", { name: "Takes" }).locator("> li > button[aria-pressed]").nth(at);

/** Starts a step and waits until its card says that it is done. */
export async function runStep(page: Page, name: "First frame" | "Video" | "Last frame"): Promise<void> {
  const card = stepCard(page, name);
  await card.getByRole("button", { name: /^Generate:/ }).click();
  await card.getByText("Done").waitFor();
}
