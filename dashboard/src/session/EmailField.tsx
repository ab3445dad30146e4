import { TextInput, type TextInputProps } from "@mantine/core";

/** "username" is what password managers look for beside a password, also where it is an email address. */
export function EmailField(props: TextInputProps) {
  return (
    <TextInput
      label="Email address"
      name="email"
      type="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      required
      withAsterisk={false}
      {...props}
    />
  );
}
