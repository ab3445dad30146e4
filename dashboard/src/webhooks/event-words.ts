/** What each event tells, for a person. */
const EVENT_WORDS: Record<string, string> = {
  "project.created": "A project was saved.",
  "generation.succeeded": "A frame or a video is finished and stored.",
  "generation.failed": "A frame or a video will not come.",
  "webhook.test": "You asked for a test.",
};

export const eventWords = (type: string): string => EVENT_WORDS[type] ?? "";
