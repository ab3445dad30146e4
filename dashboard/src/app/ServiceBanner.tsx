import { Alert } from "@mantine/core";
import { useNetwork } from "@mantine/hooks";
import { IconCloudOff } from "@tabler/icons-react";
import { useIsServiceAway } from "./use-is-service-away.ts";

/** Says when what is shown may be old, and why. Goes by itself. */
export function ServiceBanner() {
  const { online } = useNetwork();
  const isAway = useIsServiceAway();
  if (online && !isAway) return null;
  return (
    <Alert color="yellow" mb="md" role="status" icon={<IconCloudOff aria-hidden />}>
      {online
        ? "The service does not answer just now. It is being tried again; what you see may be old."
        : "You are offline. What you see may be old; it is brought up to date when you are back."}
    </Alert>
  );
}
