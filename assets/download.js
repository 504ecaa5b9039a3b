// Offers props.value {name, data (base64)} as a download as soon as it arrives.
watch('value', () => {
  const file = props.value;
  if (!file || !file.data) return;
  const bytes = Uint8Array.from(atob(file.data), c => c.charCodeAt(0));
  const link = Object.assign(document.createElement('a'), {href: URL.createObjectURL(new Blob([bytes])), download: file.name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
