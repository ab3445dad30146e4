import { IconInbox } from "@tabler/icons-react";
import { EmptyState } from "../ui/EmptyState.tsx";
import type { DeliveryStatus } from "./webhook-keys.ts";

const WORDS: Record<DeliveryStatus | "all", [title: string, text: string]> = {
  all: ["Nothing was sent yet", "Send a test, or save a project: its event appears here, with your server's answer."],
  pending: ["Nothing is pending", "What is to be sent, or to be tried again, appears here."],
  delivered: ["Nothing arrived yet", "What your server answered with 200 to 299 appears here."],
  exhausted: ["Nothing was given up", "What failed ten times over about 76 hours appears here, to be sent again."],
};

/** What stands where no delivery is. */
export function NoDeliveries({ filter }: { filter: DeliveryStatus | "all" }) {
  const [title, text] = WORDS[filter];
  return <EmptyState Icon={IconInbox} title={title} text={text} />;
}
