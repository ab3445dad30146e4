import type { KeyRight } from "../../../client/index.ts";

/** What keys may do, in words; each has those before it. */
export const RIGHTS: { right: KeyRight; label: string; text: string }[] = [
  { right: "read", label: "Read", text: "See films, projects, elements, takes and costs." },
  {
    right: "generate",
    label: "Generate",
    text: "Also create and change them, and start takes, which spends your money.",
  },
  { right: "manage", label: "Manage", text: "Also delete them, share films by link, and manage webhooks." },
];

export const rightName = (may: KeyRight): string => RIGHTS.find(({ right }) => right === may)?.label ?? may;
