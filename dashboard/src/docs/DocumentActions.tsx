import { Group } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { BusyButton } from "../ui/BusyButton.tsx";
import { CopyButton } from "../ui/CopyButton.tsx";
import { downloadJson } from "./download-json.ts";
import type { ApiDocument } from "./open-api.ts";

type Props = { address: string; document: ApiDocument | undefined };

/** The document itself, for Postman and for generators of code. */
export function DocumentActions({ address, document }: Props) {
  return (
    <Group gap="xs">
      <CopyButton text={address} label="Copy address of openapi.json" short="Copy address" />
      <BusyButton
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
        isOff={document === undefined}
        onClick={() => downloadJson("keyframe-openapi.json", document)}
      >
        Download
      </BusyButton>
    </Group>
  );
}
