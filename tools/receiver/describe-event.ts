import type { WebhookEvent } from "../../shared/contract/events.ts";
import type { ReceivedEvent, RefusedRequest } from "./start-receiver.ts";

/** A received event in one line: time, new or duplicate, type, content and identifiers. */
export function describeEvent({ id, event, receivedAt, duplicate }: ReceivedEvent): string {
  const afterMs = receivedAt.getTime() - Date.parse(event.timestamp);
  return [
    clock(receivedAt),
    duplicate ? "duplicate" : "new      ",
    event.type.padEnd(20),
    ...details(event),
    `webhook-id ${id}`,
    `${afterMs} ms after it happened`,
  ].join("  ");
}

/** A refused request in one line. */
export function describeRefusal({ receivedAt, status, reason }: RefusedRequest): string {
  return `${clock(receivedAt)}  refused    ${status}  ${printable(reason)}`;
}

function details(event: WebhookEvent): string[] {
  switch (event.type) {
    case "project.created":
      return [quote(event.data.title), `project ${event.data.projectId}`];
    case "generation.succeeded": {
      const { step, output, predictionId, projectId } = event.data;
      const sound = output.hasAudio === true ? " with sound" : "";
      const seconds = output.durationSeconds === undefined ? "" : `, ${output.durationSeconds} s${sound}`;
      const sides = output.width === undefined ? output.contentType : `${output.width} × ${output.height}`;
      const file = `${sides}${seconds}, ${Math.ceil(output.bytes / 1024)} KiB`;
      return [step, file, `prediction ${predictionId}`, `project ${projectId}`];
    }
    case "generation.failed": {
      const { step, predictionId, projectId } = event.data;
      const { code, message, retryable, stage } = event.error;
      const what = stage === undefined ? code : `${code} (${stage})`;
      const again = retryable ? "may be tried again" : "do not try again";
      return [step, `${what}: ${quote(message)}, ${again}`, `prediction ${predictionId}`, `project ${projectId}`];
    }
    case "budget.exhausted": {
      const { scope, period, resetsAt } = event.data;
      return [
        `${scope === "owner" ? `user ${event.data.ownerId}` : "all users"}: budget of the ${period} until ${resetsAt}`,
      ];
    }
    case "balance.low":
    case "balance.exhausted":
      return [`user ${event.data.ownerId}: $${event.data.availableMicros / 1_000_000} left`];
    case "webhook.test":
      return [`endpoint ${event.data.endpointId}`];
  }
}

const clock = (at: Date) => at.toISOString().slice(11);

/** A user's text in one line, shortened. */
const quote = (text: string) => printable(JSON.stringify([...text].slice(0, 60).join("")));

/** Replaces control and format characters, which could move the cursor or reverse the line. */
const printable = (text: string) => text.replace(/[\p{Cc}\p{Cf}]/gu, "·");
