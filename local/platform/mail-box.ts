/** A mail that Auth wrote, as far as the letter box shows it. */
export type Mail = { to: string; subject: string; text: string; at: Date };

/** Holds the last mails in memory, newest first; what falls out at the far end is gone. */
export interface MailBox {
  put(mail: Omit<Mail, "at">): void;
  mails(): readonly Mail[];
}

const KEPT = 50;

export function createMailBox(now: () => Date = () => new Date()): MailBox {
  let kept: readonly Mail[] = [];
  return {
    put({ to, subject, text }) {
      kept = [{ to, subject, text, at: now() }, ...kept].slice(0, KEPT);
    },
    mails: () => kept,
  };
}
