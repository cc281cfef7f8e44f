zvf plot tracts.zarrvectors --view x-z --size 320x240 -o tracts.png --quiet
wc -c < tracts.png
