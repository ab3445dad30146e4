import { Skeleton, Text } from "@mantine/core";
import { useState } from "react";
import classes from "./reference.module.css";
import { useReferenceAddress } from "./use-reference-address.ts";

/** A reference image from Storage, or word that it is not there any more. */
export function ReferencePicture({ path }: { path: string }) {
  const { data: address, isPending } = useReferenceAddress(path);
  const [failed, setFailed] = useState<string>();
  if (isPending) return <Skeleton h="100%" radius={0} />;
  if (address == null || failed === address) {
    return (
      <Text size="sm" ta="center" p="md">
        The image cannot be shown; it may have been removed. Choose another one.
      </Text>
    );
  }
  return <img className={classes.picture} src={address} alt="The look to follow" onError={() => setFailed(address)} />;
}
