const HOUR = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });

/** The hour that begins then, in the person's zone. */
export const hourWords = (iso: string): string => HOUR.format(new Date(iso));
