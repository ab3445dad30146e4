import { Alert } from "@mantine/core";
import { useNetwork } from "@mantine/hooks";
import { IconCloudOff } from "@tabler/icons-react";
import classes from "./service-banner.module.css";
import { useIsServiceAway } from "./use-is-service-away.ts";

/** Says when what is shown may be old, and why. Lies over the page, so that nothing moves when it comes and goes by itself. */
export function ServiceBanner() {
  const { online } = useNetwork();
  const isAway = useIsServiceAway();
  return (
    // Always there: what is put into a live region that is there already is read out.
    <div role="status" className={classes.place}>
      {(!online || isAway) && (
        <Alert color="yellow" variant="filled" className={classes.banner} icon={<IconCloudOff aria-hidden />}>
          {online
            ? "The service does not answer just now. It is being tried again; what you see may be old."
            : "You are offline. What you see may be old; it is brought up to date when you are back."}
        </Alert>
      )}
    </div>
  );
}
