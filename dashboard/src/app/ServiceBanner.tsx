import { Alert, Box } from "@mantine/core";
import { useNetwork } from "@mantine/hooks";
import { type Query, useIsFetching, useQueryClient } from "@tanstack/react-query";
import { KeyframeError } from "../../../client/index.ts";
import { isPassing } from "../queries/query-client.ts";
import { IconCloudOff } from "../ui/Icons.tsx";

/** Says that data may be out of date. The banner lies over the page, so that nothing moves when it appears. */
export function ServiceBanner() {
  const { online } = useNetwork();
  const failure = useFailure();
  return (
    // The region is always rendered: screen readers announce changes only of an existing live region.
    <Box role="status" pos="fixed" left={16} right={16} bottom={16} style={{ zIndex: 300, pointerEvents: "none" }}>
      {(!online || failure !== null) && (
        <Alert color="yellow" variant="filled" w="fit-content" maw="44rem" mx="auto" bdrs="md" icon={<IconCloudOff />}>
          {online ? sentenceOf(failure) : "You are offline. This page may be out of date."}
        </Alert>
      )}
    </Box>
  );
}

const sentenceOf = (failure: Error | null) =>
  failure instanceof KeyframeError && failure.code === "schema_outdated"
    ? failure.message
    : "Cannot reach the service. Retrying; this page may be out of date.";

/** Why a query on this page is retrying. Null when none is. */
function useFailure(): Error | null {
  const cache = useQueryClient().getQueryCache();
  const predicate = ({ state }: Query) => isPassing(state.fetchFailureReason);
  useIsFetching({ predicate }); // renders again when the number of such queries changes
  return cache.findAll({ fetchStatus: "fetching", predicate })[0]?.state.fetchFailureReason ?? null;
}
