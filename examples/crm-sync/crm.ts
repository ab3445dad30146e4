/** The change that one event makes in a CRM. */
export type Change = {
  ownerId: string;
  projectId: string;
  /** What the event is about. Of two events about the same part of a project, the one that happened later counts. */
  part: "project" | "first-frame" | "last-frame" | "video";
  /** When it happened: ISO 8601 in UTC with milliseconds, so that texts sort as times do. */
  at: string;
  /** The part's fields: title, textPrompt, description of a project; for a step one field, `succeeded` or `failed: why`. */
  fields: Partial<Record<Field, string>>;
};

export type Field = "title" | "textPrompt" | "description" | "firstFrame" | "lastFrame" | "video";

/** Where contacts and deals are kept. */
export type Crm = {
  /**
   * Sets the fields of the project's deal, and creates deal and owner's contact where they are missing. Resolves once the
   * CRM has it durably; doing it again changes nothing. Throws CrmUnavailable, or the signal's reason.
   */
  save(change: Change, webhookId: string, signal: AbortSignal): Promise<void>;
};

/** The CRM did not take it. The event must be sent again, not before `retryAfterSeconds`, if set. */
export class CrmUnavailable extends Error {
  readonly retryAfterSeconds: number | null;
  constructor(message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.name = "CrmUnavailable";
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
